"""From a string to a model, and from an environment to a string."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from treesearch.errors import MachineError, ModelUnavailable, UnknownModel
from treesearch.models import (
    PROVIDERS,
    ApiModel,
    FileModel,
    ModelOptions,
    Provider,
    ReplayModel,
    check,
    default_model,
    keys_present,
    open_model,
)
from treesearch.records import Answer, Request, Sampling, Stage
from treesearch.testing import HttpReply, ScriptedEndpoint, ScriptedModel

REQUEST = Request("run", 0, Stage.IDEAS, "problem", "", "0", "prompt")


def opened(name: str) -> object:
    return open_model(name, sampling=Sampling(), options=ModelOptions())


def test_a_folder_answers_to_file(tmp_path: Path) -> None:
    model = opened(f"file/{tmp_path}")
    assert isinstance(model, FileModel)
    assert model.folder == tmp_path


@pytest.mark.parametrize(("name", "path"), [("replay", ""), ("replay/", ""), ("replay//data/a.db", "/data/a.db")])
def test_replay_reads_the_archive_it_names(name: str, path: str) -> None:
    paths: list[str] = []

    def recordings(archive: str) -> Sequence[tuple[Request, Answer]]:
        paths.append(archive)
        return [(REQUEST, Answer("recorded", "openai/o3"))]

    model = open_model(name, sampling=Sampling(), options=ModelOptions(), recordings=recordings)
    assert isinstance(model, ReplayModel)
    assert (model.name, paths) == (name, [path])
    assert model.ask(REQUEST).text == "recorded"


def test_anything_else_is_an_api_asked_as_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    told: list[str] = []
    replies = [HttpReply("busy", status=503), HttpReply("text")]
    with ScriptedEndpoint(lambda _: replies.pop(0)) as endpoint:
        options = ModelOptions(backoff_seconds=0.01, api_base=endpoint.base_url)
        model = open_model(
            "openai/scripted",
            sampling=Sampling(temperature=0.25),
            options=options,
            on_failure=lambda _, failure: told.append(str(failure)),
        )
        assert model.ask(REQUEST).text == "text"
    assert endpoint.calls[1].parameters["temperature"] == 0.25
    assert len(told) == 1


@pytest.mark.parametrize("name", ["file", "file/", "file/ ", "replay/", "nobody/knows", "openai/", ""])
def test_a_string_that_names_no_model_is_a_mistake_of_usage(name: str) -> None:
    with pytest.raises(UnknownModel) as raised:
        opened(name)
    assert raised.value.exit_code == 2


def test_check_finds_what_would_fail_every_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        check(ApiModel("openai/scripted"))
    with pytest.raises(MachineError):
        check(FileModel(f"file/{tmp_path}/taken"))


def test_check_passes_what_can_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")
    for model in (ApiModel("openai/scripted"), FileModel(f"file/{tmp_path}"), ReplayModel("replay/", [])):
        check(model)
    check(ScriptedModel("scripted", lambda _: "text"))


# ── keys ────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_key_there_is_no_default_model() -> None:
    assert default_model({}) is None
    assert default_model({"OPENAI_API_KEY": "", "HOME": "/"}) is None


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_any_key_of_a_provider_selects_its_model(provider: Provider) -> None:
    for key in provider.keys:
        assert default_model({key: "secret"}) == provider.model


def test_of_several_keys_the_first_provider_is_preferred() -> None:
    assert default_model({PROVIDERS[2].keys[0]: "b", PROVIDERS[1].keys[0]: "a"}) == PROVIDERS[1].model


def test_keys_are_reported_present_or_absent_and_never_read_out() -> None:
    present = keys_present({"OPENAI_API_KEY": "secret", "XAI_API_KEY": ""})
    assert (present["OPENAI_API_KEY"], present["XAI_API_KEY"], present["ANTHROPIC_API_KEY"]) == (True, False, False)
    assert "secret" not in repr(present)
