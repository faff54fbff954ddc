"""Winners once more: what is written down of them, and the table of what became of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import replay_h100, sealed
from benchmarks.replay_h100 import Again, Prepared
from treesearch import problem
from treesearch.errors import UsageError
from treesearch.records import Configuration, Evaluation, Ratio, Status, Timing


@pytest.fixture(scope="module")
def winners() -> Prepared:
    return replay_h100.recorded(None)


def row(written: str, number: int = 0) -> list[str]:
    return [cell.strip() for cell in written.splitlines()[2 + number].replace("\\|", "/").strip("|").split("|")]


def test_the_records_winners_are_read_back_as_they_were_written_down(tmp_path: Path, winners: Prepared) -> None:
    assert {one.problem.name for one in winners.winners} >= {"layernorm", "bias_silu_clamp", "softmax_small"}
    for one in winners.winners:
        assert one.source
        assert one.then.status is Status.VERIFIED
        assert one.problem.digest == problem.load(one.problem.name).digest
    sealed.write(tmp_path / "winners.json", winners)
    assert sealed.read(tmp_path / "winners.json", Prepared, "winners") == winners


def test_another_file_is_refused_with_what_writes_one(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("my notes")
    with pytest.raises(UsageError, match=r"Cannot take .*notes as winners: .*prepare -o FILE"):
        sealed.read(tmp_path / "notes", Prepared, "winners")


def test_a_row_has_both_times_and_the_fastest_torch(winners: Prepared) -> None:
    first = winners.winners[0]
    assert first.then.measurement is not None
    tf32 = Configuration("TF32", Timing((1e-3,)), Ratio(1.25, 1.2, 1.3))
    slower = replace(first.then.measurement, kernel=Timing((12.5,)), configurations=(tf32,))
    cells = row(replay_h100.table([Again(first, "here", replace(first.then, measurement=slower))]))
    assert cells[:2] == [first.problem.name, first.kernel]
    assert cells[3] == "12.5 ms"
    assert cells[8:10] == ["TF32, 0.001 ms", "1.25× (1.20–1.30)"]
    assert len(cells) == len(replay_h100.HEADS)


def test_a_winner_that_is_wrong_here_says_so_and_the_command_ends_with_1(
    winners: Prepared, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = winners.winners[:2]
    wrong = Evaluation(Status.WRONG, first.then.device, first.then.protocol, "row 3 | is off\nby a lot")
    found = [Again(first, "here", wrong), Again(second, "here", second.then)]
    monkeypatch.setattr(replay_h100, "measured", lambda winners: iter(found))
    assert replay_h100.run(winners.winners) == 1
    written = capsys.readouterr().out
    cells = row(written.partition("\n\n")[2])
    assert cells[3] == "wrong: row 3 / is off by a lot"
    assert len(cells) == len(replay_h100.HEADS)
    assert "1 of 2 winners are right here." in written
