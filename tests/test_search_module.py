"""A search in KernelBench's own form: a small network of which some operators stay in torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import treesearch
from tests.steps import scripted
from treesearch.models import ModelOptions
from treesearch.records import Label, Status
from treesearch.testing import ScriptedEndpoint

pytestmark = pytest.mark.timed

NETWORK = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, features)
        self.norm = nn.BatchNorm1d(features)
        self.second = nn.Linear(features, 16)

    @torch.compiler.disable
    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x))) * 2)


def get_inputs():
    return [torch.randn(256, 128)]


def get_init_inputs():
    return [128]
"""
MODULE = NETWORK.split("def get_inputs")[0].strip().replace("class Model(", "class ModelNew(") + "\n"
FUSED = MODULE.replace("torch.relu(self.norm(self.first(x))) * 2", "self.norm(self.first(x)).relu_().mul_(2)")


@pytest.fixture(scope="module", autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


def answer(prompt: str) -> str:
    if scripted.is_ideas(prompt):
        return scripted.ideas(prompt)
    source = FUSED if "## The idea to implement" in prompt else MODULE
    return f"The plan is plain.\n\n```python\n{source}```\n"


def test_a_network_is_searched_with_operators_left_in_torch(tmp_path: Path) -> None:
    path = tmp_path / "network.py"
    path.write_text(NETWORK)
    with ScriptedEndpoint(answer) as endpoint:
        result = treesearch.search(
            path,
            models=("openai/scripted",),
            rounds=1,
            ideas=1,
            implementations=1,
            beam=1,
            repairs=0,
            language="module",
            archive=tmp_path / "archive.db",
            options=ModelOptions(api_base=endpoint.base_url),
        )
    verdicts = [entry.evaluation for entry in result.lineage.entries if entry.evaluation]
    assert [entry.kernel.source for entry in result.lineage.entries] == [MODULE, FUSED]
    assert {verdict.status for verdict in verdicts} <= {Status.VERIFIED, Status.SUSPECT}
    assert all(Label.OPEN in verdict.labels for verdict in verdicts)
