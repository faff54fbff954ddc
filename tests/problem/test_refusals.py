"""References that cannot be expressed as a C function, each refused with its reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from treesearch import problem
from treesearch.errors import ProblemError
from treesearch.records import Problem

Make = Callable[..., Problem]

REFUSED = {
    "forward writes its input": ("x: x.add_(1); return x * 2", "torch.randn(4)", "changes its inputs in place"),
    "dropout": ("x: return nn.functional.dropout(x, 0.5)", "torch.randn(64)", "is random"),
    "shape depends on data": ("x: return x[x > 0]", "torch.randn(1000)", "output shapes that depend on data"),
    "inputs change shape": ("x: return x", "torch.randn(int(torch.randint(1, 10**6, ())))", "other shapes or types"),
    "sparse input": ("x: return x.to_dense()", "torch.eye(4).to_sparse()", "sparse, nested or quantized"),
    "nested input": (
        "x: return x.to_padded_tensor(0.0)",
        "torch.nested.nested_tensor([torch.ones(3), torch.ones(5)])",
        "sparse, nested or quantized",
    ),
    "sparse output": ("x: return x.to_sparse()", "torch.ones(4)", "The output 'out' of handmade is sparse"),
    "complex input": ("x: return x.real", "torch.randn(4, dtype=torch.complex64)", "dtype torch.complex64"),
    "complex output": ("x: return torch.fft.fft(x)", "torch.randn(4)", "dtype torch.complex64; possible are float16"),
    "text": ("x, how: return x", "torch.randn(4), 'mean'", "Input 'how' of handmade is a str"),
    "nothing as input": ("x, mask: return x", "torch.randn(4), None", "Input 'mask' of handmade is a NoneType"),
    "list as input": ("x: return x[0]", "[torch.randn(4)]", "is a list; only tensors, bool, int and float"),
    "empty input": ("x: return x.sum()", "torch.randn(0, 4)", "is empty: its shape is (0, 4)"),
    "empty output": ("x: return x[:0]", "torch.randn(4)", "The output 'out' of handmade is empty"),
    "number as output": ("x: return float(x.sum())", "torch.randn(4)", "returns a float; only tensors"),
    "dict as output": ("x: return {'y': x}", "torch.randn(4)", "returns a dict; only tensors"),
    "no output": ("x: return ()", "torch.randn(4)", "returns nothing"),
    "too many inputs": ("x: return x", "torch.randn(4), torch.randn(4)", "gives 2 values; forward takes 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_expressed_is_refused_with_the_reason(handmade: Make, name: str) -> None:
    forward, inputs, reason = REFUSED[name]
    with pytest.raises(ProblemError) as caught:
        handmade(forward, inputs)
    assert reason in str(caught.value)
    assert "handmade" in str(caught.value)


STATEFUL = """import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.zeros(4)
        self.mask = None

    def forward(self, x):
        if self.mask is None:
            self.mask = torch.ones(4)
        self.hidden = FORMULA
        return x * self.mask + self.hidden

def get_inputs():
    return [torch.randn(4)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("formula", ["torch.tanh(self.hidden + x)", "self.hidden.add_(x)"])
def test_what_a_forward_leaves_for_its_next_call_is_refused_by_name(formula: str) -> None:
    with pytest.raises(ProblemError, match="leaves hidden for its next call"):
        problem.from_source("stateful", STATEFUL.replace("FORMULA", formula))


def test_what_a_forward_works_out_once_is_no_state() -> None:
    assert problem.from_source("stateful", STATEFUL.replace("FORMULA", "self.hidden"))


WHOLE = """import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return x

def get_inputs():
    return [torch.randn(4)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("return x\n", "raise KeyError('lost')\n", "forward raised KeyError at line 6: 'lost'"),
        ("return x\n", "return helper(x)\n", "forward raised NameError at line 6"),
        ("return x\n", "return x @ torch.ones(3)\n", "forward raised RuntimeError at line 6"),
        ("[torch.randn(4)]", "1 / 0", "get_inputs() raised ZeroDivisionError at line 9"),
        ("[torch.randn(4)]", "torch.randn(4)", "get_inputs() of broken returns a Tensor, not a list"),
        ("return []", "return [1]", "Model(*get_init_inputs()) raised TypeError"),
        ("import torch\n", "import torch, no_such_module\n", "importing it raised ModuleNotFoundError at line 1"),
        ("import torch\n", "raise SystemExit(0)\n", "importing it raised SystemExit at line 1"),
        ("    def forward", "  def forward(: pass", "importing it raised SyntaxError at line 5"),
        ("nn.Module", "object", "Model of broken is not a torch.nn.Module"),
        ("def get_inputs", "def other_inputs", "broken defines no get_inputs"),
        ("def get_init_inputs", "def other", "broken defines no get_init_inputs"),
        ("class Model", "class Net", "broken defines no Model"),
        ("class Model", "TOLERANCE = 0\nclass Model", "TOLERANCE of broken is 0; it must be a number between 0 and 1"),
        ("class Model", "TOLERANCE = 'low'\nclass Model", "TOLERANCE of broken is 'low'"),
    ],
)
def test_a_reference_that_fails_is_refused_with_the_line(old: str, new: str, told: str) -> None:
    assert WHOLE.count(old) == 1
    with pytest.raises(ProblemError) as caught:
        problem.from_source("broken", WHOLE.replace(old, new))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_file_whose_parts_were_broken_is_itself_in_order() -> None:
    assert [a.name for a in problem.from_source("whole", WHOLE).signature.arguments] == ["x", "out"]


@pytest.mark.parametrize("text", ["this is a poem, not Python", "#include <math.h>\nint main() {}", "\0"])
def test_what_is_not_python_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "poem.py"
    path.write_text(text)
    with pytest.raises(ProblemError, match="poem: importing it raised"):
        problem.load(str(path))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bytes.py"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ProblemError, match="Cannot read the problem"):
        problem.load(str(path))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("softmax_smal", "Did you mean softmax_small?"),
        ("xyzzy", "Shipped problems: attention_fp16, bias_silu_clamp"),
        ("nowhere/at_all.py", "There is no problem file nowhere/at_all.py"),
    ],
)
def test_an_unknown_problem_gets_a_hint(name: str, told: str) -> None:
    with pytest.raises(ProblemError) as caught:
        problem.find(name)
    assert told in str(caught.value)


def test_a_file_from_elsewhere_is_loaded_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "1_own.py"
    path.write_text(WHOLE)
    loaded = problem.load(str(path))
    assert (loaded.name, loaded.source) == ("1_own", WHOLE)
