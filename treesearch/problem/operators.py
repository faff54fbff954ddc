"""Which operators a reference consists of, read off its source text: what makes two problems alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_SYNONYMS = {
    **dict.fromkeys(("linear", "bilinear", "mm", "bmm", "addmm", "baddbmm", "einsum", "dot", "mv"), ("matmul",)),
    "scaleddotproductattention": ("matmul", "softmax", "attention"),
    "multiheadattention": ("matmul", "softmax", "attention"),
    "logsoftmax": ("softmax",),
    "crossentropy": ("softmax", "crossentropy"),
    "crossentropyloss": ("softmax", "crossentropy"),
    "amax": ("max",),
    "amin": ("min",),
}
_NO_OPERATORS = frozenset(
    """module modulelist moduledict sequential parameter parameterlist identity dropout tensor
    view reshape flatten unflatten permute transpose contiguous unsqueeze squeeze expand expandas size dim numel
    zeros ones empty full arange zeroslike oneslike emptylike rand randn randint manualseed nograd float half double
    to type device registerbuffer init finfo""".split()
)
"""Names that only shape, make or hold tensors; anything else from torch counts as an operator."""
_METHODS = frozenset(
    """matmul mm bmm softmax logsoftmax relu sigmoid tanh gelu silu exp log sqrt rsqrt sum mean var std max min amax
    amin norm cumsum cumprod prod argmax argmin topk sort logsumexp clamp""".split()
)
"""Methods of tensors that count, since a method's name alone may be anybody's."""
_TORCH = frozenset({"torch", "nn", "F", "functional"})


def operators(source: str) -> frozenset[str]:
    """Names such as `conv2d`, `softmax`, `matmul` of what the class `Model` of a reference computes.

    Layers and functions of one operator have one name. Nothing for a text that cannot be parsed.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    models = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"]
    found = (_normal(name) for model in models for name in _called(model))
    return frozenset(
        operator for name in found if name not in _NO_OPERATORS for operator in _SYNONYMS.get(name, (name,))
    )


def _called(model: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(model):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield "matmul"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            base, name = node.func.value, node.func.attr
            owner = base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""
            if owner in _TORCH or (owner != "self" and _normal(name) in _METHODS):
                yield name


def _normal(name: str) -> str:
    """`layernorm` of `LayerNorm` and `layer_norm`; `relu` of `relu_`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
