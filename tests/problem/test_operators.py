"""What makes two problems alike."""

from __future__ import annotations

import pytest

from treesearch.problem.operators import operators


def model(forward: str, made: str = "pass") -> str:
    return (
        "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
        f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {made}\n\n"
        f"    def forward(self, x, y):\n        return {forward}\n\n\n"
        "def get_inputs():\n    return [torch.rand(4, 4), torch.cumsum(torch.ones(4), 0)]\n"
    )


@pytest.mark.parametrize(
    ("forward", "found"),
    [
        ("x @ y", {"matmul"}),
        ("torch.bmm(x, y)", {"matmul"}),
        ("F.linear(x, y)", {"matmul"}),
        ("torch.einsum('ij,jk->ik', x, y)", {"matmul"}),
        ("torch.relu(x).sum(dim=1)", {"relu", "sum"}),
        ("torch.nn.functional.layer_norm(x, (4,))", {"layernorm"}),
        ("F.log_softmax(x.view(2, 8).transpose(0, 1).contiguous(), 1)", {"softmax"}),
        ("F.scaled_dot_product_attention(x, y, y)", {"attention", "matmul", "softmax"}),
        ("self.norm(x)", set()),
        ("x + y", set()),
    ],
)
def test_operators_have_one_name_however_they_are_written(forward: str, found: set[str]) -> None:
    assert operators(model(forward)) == found


def test_layers_count_and_what_only_makes_or_holds_tensors_does_not() -> None:
    made = "self.steps = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()); self.w = nn.Parameter(torch.randn(3))"
    assert operators(model("self.steps(x)", made)) == {"conv2d", "relu"}


@pytest.mark.parametrize("source", ["", "class Model: ...\n# µ–∑", "def (:", "\0"])
def test_a_text_without_a_model_has_no_operators(source: str) -> None:
    assert operators(source) == frozenset()
