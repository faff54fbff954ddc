"""What `treesearch doctor` says of models that it is told to ask; what it and `device` say of a device's noise."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from treesearch.cli import doctor
from treesearch.cli.doctor import QUESTION, model_finding, noise_finding
from treesearch.evaluation import device
from treesearch.records import Device
from treesearch.testing import HttpReply, ScriptedEndpoint, nobody_listens
from treesearch.view import hardware

GPU = Device("cuda", "NVIDIA H100 80GB HBM3", 132, 80 << 30)


def test_noise_that_was_never_measured_is_no_failure() -> None:
    assert noise_finding(GPU) == (
        "noise of cuda",
        None,
        "never measured; `treesearch doctor --measure` does, in half a minute",
    )
    assert "noise" not in hardware.figures(GPU)


def test_measured_noise_is_stated_in_percent() -> None:
    what, state, said = noise_finding(replace(GPU, noise=0.0123))
    assert (what, state) == ("noise of cuda", True)
    assert said == "two measurements of one kernel differ by less than 1.2 %, 95 times in 100"
    assert hardware.figures(replace(GPU, noise=0.0123)) == "noise 1.2 %"


def test_doctor_looks_up_what_was_measured_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path))
    assert [state for _, state, _ in doctor._noise(gpu=False, measure=False)] == [None]
    device.keep_noise(replace(device.cpu(), noise=0.02))
    assert list(doctor._noise(gpu=False, measure=False)) == [noise_finding(replace(device.cpu(), noise=0.02))]


def test_what_keeps_the_noise_from_being_measured_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # without a compiler
    ((what, state, said),) = doctor._noise(gpu=False, measure=True)
    assert (what, state) == ("noise of cpu", False)
    assert "There is no compiler for C++17" in said


# ── models ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")


@pytest.mark.usefixtures("_key")
def test_a_model_that_answers_is_quoted_with_its_latency_and_tokens() -> None:
    with ScriptedEndpoint(lambda _: "ready") as endpoint:
        what, state, said = model_finding("openai/s=2", endpoint.base_url)
        assert [call.prompt for call in endpoint.calls] == [QUESTION]
    assert (what, state) == ("model openai/s", True)
    assert re.fullmatch(r"answered 'ready' as scripted-2026-01-01 in \d+\.\d s; 18 tokens, unpriced", said)


@pytest.mark.usefixtures("_key")
def test_a_model_that_fails_is_asked_once_and_says_exactly_why() -> None:
    with ScriptedEndpoint(lambda _: HttpReply("the account is closed", status=401)) as endpoint:
        what, state, said = model_finding("openai/s", endpoint.base_url)
        assert len(endpoint.calls) == 1
    assert (what, state) == ("model openai/s", False)
    assert "refuses the key" in said
    assert "the account is closed" in said
    address = nobody_listens()
    assert f"cannot reach {address}" in model_finding("openai/s", address)[2]


def test_what_is_no_endpoint_costs_no_question(tmp_path: Path) -> None:
    assert model_finding(f"file/{tmp_path}/answers")[1:] == (True, f"questions can be written to {tmp_path}/answers")
    assert model_finding("replay/")[1] is None
    assert model_finding("nobody/knows")[1] is False
    assert "OPENAI_API_KEY" in model_finding("openai/s")[2]


def test_a_command_is_run_once(tmp_path: Path) -> None:
    assert model_finding("cmd/cat")[2].startswith("answered 'Answer with this one word")
    assert "exit code 1" in model_finding("cmd/false")[2]
