"""treesearch from Python: search with a policy of one's own, evaluate, and the archive."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import treesearch
from tests.steps import scripted
from treesearch.errors import AnswersExhausted, ArchiveError, UsageError
from treesearch.lineage import Lineage
from treesearch.models import ModelOptions
from treesearch.records import Device, Evaluation, Status
from treesearch.testing import ScriptedEndpoint

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=False).stdout


def test_a_policy_of_ones_own_picks_the_parents_and_the_checkout_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before, record = git("status", "--short"), (CHECKOUT / "archive.db").read_bytes()
    seen: list[int] = []

    def slowest(lineage: Lineage, beam: int) -> tuple[str, ...]:
        seen.append(beam)
        return tuple(entry.kernel.id for entry in lineage.verified()[::-1][:1])

    with ScriptedEndpoint(scripted.right) as endpoint:
        result = treesearch.search(
            scripted.write_problem(tmp_path),
            models=["openai/s"],
            rounds=1,
            ideas=1,
            implementations=1,
            beam=3,
            policy=slowest,
            options=ModelOptions(api_base=endpoint.base_url),
            evaluator=scripted.evaluator(),
        )
    with treesearch.Archive(".treesearch/archive.db") as archive:
        assert archive.run(result.run.id) == result.run
        parents = archive.rounds(result.run.id)[1].parents
    first = [entry for entry in result.lineage.entries if entry.kernel.round == 0]
    assert parents == (max(first, key=lambda entry: entry.milliseconds or 0).kernel.id,)
    assert seen == [3]
    assert result.run.config.policy == "slowest"
    assert git("status", "--short") == before
    assert (CHECKOUT / "archive.db").read_bytes() == record


def test_a_source_is_asked_about_once_however_often_a_policy_names_it(tmp_path: Path) -> None:
    def everything(lineage: Lineage, beam: int) -> tuple[str, ...]:
        return tuple(entry.kernel.id for entry in lineage.verified())

    def reply(prompt: str) -> str:
        return scripted.ideas(prompt) if scripted.is_ideas(prompt) else scripted.fenced(scripted.source())

    with ScriptedEndpoint(reply) as endpoint:
        result = treesearch.search(
            scripted.write_problem(tmp_path),
            models=["openai/s"],
            rounds=1,
            ideas=2,
            implementations=1,
            beam=2,
            policy=everything,
            archive=tmp_path / "a.db",
            options=ModelOptions(api_base=endpoint.base_url),
            evaluator=scripted.evaluator(),
        )
        assert len([call for call in endpoint.calls if scripted.is_ideas(call.prompt)]) == 1
    assert [entry.verified for entry in result.lineage.entries] == [True] * 4


@pytest.mark.compiler
@pytest.mark.untimed
def test_evaluate_tells_of_each_verdict_as_it_comes(tmp_path: Path) -> None:
    (tmp_path / "broken.cpp").write_text(scripted.source(scripted.BROKEN))
    (tmp_path / "empty.cpp").write_text("")
    heard: list[tuple[Path, Status]] = []

    def judged(path: Path, verdict: Evaluation) -> None:
        heard.append((path, verdict.status))

    files = [tmp_path / "broken.cpp", tmp_path / "empty.cpp"]
    verdicts = treesearch.evaluate(scripted.write_problem(tmp_path), files, judged=judged)
    assert heard == [(path, verdict.status) for path, verdict in zip(files, verdicts, strict=True)]
    assert verdicts[0].status is Status.BUILD_FAILED
    assert verdicts[1].status is not Status.VERIFIED


@pytest.mark.parametrize("name", ["gone.cpp", "folder.cpp"])
def test_evaluate_refuses_what_it_cannot_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.cpp").mkdir()
    with pytest.raises(UsageError, match="Cannot read"):
        treesearch.evaluate(scripted.write_problem(tmp_path), [tmp_path / name])


def test_settings_that_make_no_search_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not fit"):
        treesearch.search(scripted.write_problem(tmp_path), models=["openai/s"], beam=0, archive=tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()


def test_a_recording_that_knows_nothing_of_the_problem_is_refused(tmp_path: Path) -> None:
    treesearch.Archive(tmp_path / "empty.db").close()
    with pytest.raises(AnswersExhausted, match="holds no answers about scaled_relu"):
        treesearch.search(
            scripted.write_problem(tmp_path), models=[f"replay/{tmp_path / 'empty.db'}"], archive=tmp_path / "a.db"
        )


def test_the_shipped_record_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError), treesearch.Archive(CHECKOUT / "archive.db", read_only=True) as record:
        record.save_device(Device("cpu", "x", 1, 1))


def test_importing_treesearch_imports_nothing_heavy() -> None:
    code = "import sys, treesearch; print(sorted({'torch', 'sqlalchemy', 'litellm', 'click'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
