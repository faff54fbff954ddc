"""A search whose device is somewhere else: bundles out, results in, and nothing that does not belong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.steps import away, scripted
from tests.steps.away import Split
from treesearch import api, problem
from treesearch.archive import Archive
from treesearch.errors import AnswersExhausted, MachineError, NoUsableAnswer, UsageError
from treesearch.evaluation import bundle, device, target
from treesearch.evaluation.target import Here
from treesearch.languages import CPP
from treesearch.records import Config, Device, Entry, Purpose, RunState, Status, codec
from treesearch.testing import ScriptedEndpoint

pytestmark = [pytest.mark.compiler, pytest.mark.untimed]

GPU = Device("cuda", "NVIDIA H100 80GB HBM3", 132, 80 << 30, architecture="sm_90a", bandwidth=3e12)
Change = Callable[[int, dict[str, Any]], None]


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


@pytest.fixture
def split(tmp_path: Path) -> Iterator[Split]:
    with ScriptedEndpoint(scripted.mixed) as endpoint:
        yield Split(tmp_path, endpoint, away.write_device(tmp_path, away.target(bandwidth=1e9)))


def entries(archive: Path) -> tuple[Entry, ...]:
    with Archive(archive, read_only=True) as store:
        run = store.latest_run()
        assert run is not None
        return store.entries(run.id)


class TestSplit:
    def test_a_search_goes_on_over_bundles_to_its_end(self, split: Split) -> None:
        trips = []
        for _ in range(4):  # first kernels, a repair, the ideas' kernels, a repair
            path = split.waits()
            written = path.stat().st_mtime_ns, path.read_bytes()
            assert split.waits() == path, "the same waiting work is the same bundle"
            assert (path.stat().st_mtime_ns, path.read_bytes()) == written
            packed = bundle.read(path)
            trips.append(len(packed.kernels))
            asked = len(split.endpoint.calls)
            assert split.absorb(split.judge(path)) == len(packed.kernels)
            assert len(split.endpoint.calls) == asked
        final = split.waits()
        assert bundle.read(final).purpose is Purpose.FINAL
        assert split.absorb(split.judge(final)) == len(bundle.read(final).kernels)
        result = split.finish()
        assert trips == [2, 1, 2, 1], "a bundle holds all that a round can send"
        assert result.run.device == device.cpu().id
        assert result.winner.evaluation is not None
        assert result.winner.evaluation.device == device.cpu().id
        assert len({call.prompt for call in split.endpoint.calls}) == len(split.endpoint.calls)
        with Archive(split.archive) as store:
            assert store.run(result.run.id).state is RunState.DONE
            assert store.device(result.run.device).bandwidth == 1e9, "the description's figure stays"

    def test_a_second_absorb_changes_nothing(self, split: Split) -> None:
        results = split.judge(split.waits())
        assert split.absorb(results) == 2
        before = entries(split.archive)
        assert split.absorb(results) == 0
        assert entries(split.archive) == before

    def test_what_does_not_build_is_repaired_before_anything_travels(self, split: Split) -> None:
        away.write_device(split.folder, away.target(architecture="x86-64"))
        packed = bundle.read(split.waits())
        judged = {entry.kernel.ordinal: entry.evaluation for entry in entries(split.archive)}
        assert [ordinal for ordinal, verdict in judged.items() if verdict is None] == ["0.0", "0.1r1"]
        failed = judged["0.1"]
        assert failed is not None
        assert failed.status is Status.BUILD_FAILED
        assert failed.device == device.cpu().id
        assert "gone" in failed.error
        assert failed.profile.startswith("Status: build failed\n\n")
        assert "gone" in failed.profile, "models read why"
        assert [kernel.source.count("gone") for kernel in packed.kernels] == [0, 0]

    def test_without_a_compiler_here_every_kernel_travels(self, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
        away.write_device(split.folder, away.target(architecture="x86-64"))
        monkeypatch.setenv("PATH", str(split.folder))
        assert len(bundle.read(split.waits()).kernels) == 2
        assert [entry.evaluation for entry in entries(split.archive)] == [None, None]

    def test_answers_that_are_due_are_waited_for_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        goal = away.write_device(tmp_path, away.target(name="Another CPU"))
        counts = ("--rounds", 0, "--beam", 2, "--device", goal)
        words = (scripted.write_problem(tmp_path), "--model", "file/box", *counts)
        assert "2 answers are due" in scripted.typed("run", *words, cwd=tmp_path).stderr
        due = sorted(path.name.replace("prompt", "answer") for path in Path("box").glob("*.prompt.md"))
        scripted.write_answers(Path("box"), only=[f"box/{due[0]}"])
        assert "1 answer is due" in scripted.typed("run", *words, cwd=tmp_path).stderr
        assert not bundle.FOLDER.exists()
        scripted.write_answers(Path("box"))
        done = scripted.typed("run", *words, cwd=tmp_path)
        assert done.returncode == 75
        assert done.stderr.splitlines()[-1].startswith("Waiting: 2 kernels are to be judged on Another CPU")
        [path] = bundle.FOLDER.iterdir()
        for step in (str(path), f"treesearch work {path.name}", f"treesearch absorb {bundle.results_of(path).name}"):
            assert step in done.stderr


# ── refused results ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Split, str]]:
    """A search that waits, and the results that it waits for."""
    folder = tmp_path_factory.mktemp("judged")
    with scripted.settings(), ScriptedEndpoint(scripted.right) as endpoint:
        split = Split(folder, endpoint, away.write_device(folder, away.target()))
        yield split, split.judge(split.waits(rounds=0)).read_text()


def in_header(**members: object) -> Change:
    def change(line: int, found: dict[str, Any]) -> None:
        if line == 0:
            found.update(members)

    return change


def in_last(**members: object) -> Change:
    def change(line: int, found: dict[str, Any]) -> None:
        if line == 2:
            found.update(members)

    return change


def other_device(line: int, found: dict[str, Any]) -> None:
    holder = found if line == 0 else found["evaluation"]
    described = away.target(name="Yet another CPU")
    holder["device"] = codec.encode(described) if line == 0 else described.id


def other_deadline(line: int, found: dict[str, Any]) -> None:
    (found if line == 0 else found["evaluation"])["protocol"]["deadline_seconds"] = 99.0


def other_clock(line: int, found: dict[str, Any]) -> None:
    if line == 2:
        found["evaluation"]["protocol"]["repeats"] += 1


def later_protocol(line: int, found: dict[str, Any]) -> None:
    if line == 0:
        found["protocol"]["version"] += 1


def twice(line: int, found: dict[str, Any]) -> None:
    found["kernel" if line else "run"] = "0" * 12


REFUSALS: list[tuple[Change, str]] = [
    (in_header(problem="0" * 64), "another problem"),
    (in_header(run="0" * 8), "run 00000000, which is not in"),
    (in_header(language="cuda"), "its kernels are in cuda, and run"),
    (in_header(format="treesearch bundle"), "does not say that it is a treesearch results"),
    (in_header(version=1), "is of format 1, and this treesearch reads format 2"),
    (in_header(bundle="0" * 64), "line 2: it is of another bundle"),
    (in_header(secret=1), "'secret' that is not known"),
    (in_last(kernel="0" * 12), "has no kernel 000000000000"),
    (in_last(source="0" * 64), "has another source in the archive"),
    (in_last(evaluation=None), "line 3: Verdict.evaluation is None"),
    (other_device, r"judged on Yet another CPU \(.*\), and run .* is about"),
    (other_deadline, "judged by another protocol"),
    (other_clock, "line 3: it was judged by another protocol than the first line says"),
    (later_protocol, "use the same release of treesearch on both machines"),
    (twice, "two verdicts on one kernel"),
]


@pytest.mark.parametrize(("change", "reason"), REFUSALS)
def test_results_that_do_not_fit_are_refused_whole(
    judged: tuple[Split, str], tmp_path: Path, change: Change, reason: str
) -> None:
    split, text = judged
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    away.rewritten(path, change)
    with pytest.raises(UsageError, match=reason):
        split.absorb(path)
    assert [entry.evaluation for entry in entries(split.archive)] == [None, None]


def test_a_figure_that_was_changed_is_refused_with_its_line_and_so_is_every_other_file(
    judged: tuple[Split, str], tmp_path: Path
) -> None:
    split, text = judged
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(text)
    first, second, third = text.splitlines(keepends=True)
    bad.write_text(first + second.replace('"seconds":', '"seconds":1', 1) + third)
    with pytest.raises(UsageError, match="line 2: its digest does not match its content"):
        api.absorb([good, bad], archive=split.archive)
    assert [entry.evaluation for entry in entries(split.archive)] == [None, None]


def test_a_results_file_cut_anywhere_in_its_last_line_gives_what_is_whole(split: Split) -> None:
    results = split.judge(split.waits())
    text = results.read_text()
    results.write_text(text[: text.rindex("{", 0, len(text) - 10)])
    assert split.absorb(results) == 1
    [left] = [entry.kernel.id for entry in entries(split.archive) if entry.evaluation is None]
    packed = [kernel.id for kernel in bundle.read(split.waits()).kernels]
    assert left in packed
    assert packed == [entry.kernel.id for entry in entries(split.archive) if entry.evaluation is None]
    results.write_text(text.rstrip("\n"))
    assert split.absorb(results) == 1, "only a line break is missing"


# ── refused bundles ─────────────────────────────────────────────────────────────────────────────


def sealed(change: Change) -> Change:
    """The change, with a digest that fits it."""

    def changed(line: int, members: dict[str, Any]) -> None:
        change(line, members)
        del members[codec.DIGEST]
        members.update(codec.seal(members))

    return changed


def other_source(_: int, found: dict[str, Any]) -> None:
    found["kernels"][0]["source"] += " "


def another_problem(_: int, found: dict[str, Any]) -> None:
    found["problem"]["source"] += " "


def same_kernel(_: int, found: dict[str, Any]) -> None:
    found["kernels"] *= 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (in_header(version=2), "it is of format 2, and this treesearch reads format 3"),
        (sealed(in_header(version=4)), "it is of format 4, and this treesearch reads format 3"),
        (other_source, "its digest does not match its content"),
        (sealed(other_source), "the source of kernel k0 is not the one that its digest names"),
        (sealed(another_problem), "its problem scaled_relu is not the one that its digest names"),
        (sealed(later_protocol), "is for version .* of how kernels are judged, and this treesearch judges by version"),
        (sealed(same_kernel), "names a kernel twice"),
        (sealed(in_header(language="basic")), "in 'basic', which this treesearch does not know"),
        (sealed(in_header(language="cuda")), "cuda do not run on a device of kind 'cpu'"),
        (sealed(in_header(format="zip")), "does not say that it is a treesearch bundle"),
        (sealed(in_header(kernels=3)), "Bundle.kernels is 3"),
    ],
)
def test_a_bundle_that_does_not_fit_is_refused_with_the_reason(tmp_path: Path, change: Change, reason: str) -> None:
    path = away.packed(tmp_path, [scripted.source()])
    members = json.loads(path.read_text())
    change(0, members)
    path.write_text(json.dumps(members))
    with pytest.raises(UsageError, match=reason):
        bundle.read(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[1, 2]", b"[" * 100_000, b"PK\x03\x04"])
def test_a_file_that_is_no_bundle_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"Cannot take .*b\.json as a bundle: "):
        bundle.read(tmp_path / "b.json")
    with pytest.raises(UsageError, match="Cannot read"):
        bundle.read(tmp_path / "gone.json")


def test_a_file_beyond_the_largest_size_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="larger than 256 MiB"):
        bundle.read(path)


# ── naming a device, and a language ─────────────────────────────────────────────────────────────


class TestTarget:
    def test_a_device_is_found_by_its_id_and_by_a_part_of_its_name(self) -> None:
        for name in (GPU.id, GPU.id[:6], "h100", "80GB"):
            found = target.named(name, "auto", [GPU], away.elsewhere())
            assert (found.device, found.language.name, found.here) == (GPU, "cuda", False)

    def test_this_machines_device_is_judged_on_here(self) -> None:
        mine = target.named(device.cpu().id, "auto", [away.target(bandwidth=5.0)])
        assert mine.here
        assert target.at_hand(CPP).device == device.cpu()

    def test_a_name_of_several_or_of_none_lists_what_is_known(self) -> None:
        other = Device("cuda", "NVIDIA H100 PCIe", 114, 80 << 30)
        with pytest.raises(UsageError, match=rf"more than one device: .*{GPU.id}.*{other.id}"):
            target.named("H100", "auto", [GPU, other])
        with pytest.raises(UsageError, match=rf"known by 'B200'; known are .*{GPU.id}.*treesearch device -o"):
            target.named("B200", "auto", [GPU])
        with pytest.raises(UsageError, match="No device is known by ''"):
            target.named("", "auto", [GPU])

    def test_a_device_that_cannot_run_the_language_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"cpp do not run on NVIDIA H100.*; what runs there is cuda, module"):
            target.named("H100", "cpp", [GPU])

    def test_a_description_that_is_none_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "d.json").write_text('{"kind": "cuda"}')
        with pytest.raises(UsageError, match=r"d\.json .*Device lacks name, cores, memory_bytes"):
            target.named(str(tmp_path / "d.json"), "auto", [])

    def test_a_language_whose_device_is_absent_says_that_it_may_be_elsewhere(self, tmp_path: Path) -> None:
        with pytest.raises(MachineError, match="It need not be here: name it with --device"):
            api.search(
                scripted.write_problem(tmp_path),
                models=["openai/s"],
                language="cuda",
                archive=tmp_path / "a.db",
                here=Here((device.cpu(),)),
            )


class TestReplays:
    def recorded(self, folder: Path, language: str, hardware: Device) -> str:
        """A model that replays a search in a language, of which only the settings are recorded."""
        subject = problem.load(str(scripted.write_problem(folder)))
        with Archive(folder / "recorded.db") as store:
            store.open_run(subject, Config(models=("file/x",), language=language, rounds=0), hardware)
        return f"replay/{folder / 'recorded.db'}"

    @pytest.mark.parametrize("language", ["auto", "cpp"])
    def test_answers_recorded_in_another_language_are_not_offered(self, tmp_path: Path, language: str) -> None:
        model = self.recorded(tmp_path, "cuda", GPU)
        with pytest.raises(AnswersExhausted, match=rf"are in cuda, and .* be in cpp: .*--device {GPU.id}"):
            api.search(
                tmp_path / "scaled_relu.py",
                models=[model],
                language=language,
                archive=tmp_path / "a.db",
                here=Here((device.cpu(),)),
            )

    def test_a_replay_takes_the_language_that_is_recorded_where_another_is_preferred(self, tmp_path: Path) -> None:
        model = self.recorded(tmp_path, "cpp", away.target())
        with pytest.raises(NoUsableAnswer):  # nothing but the settings is recorded
            api.search(
                tmp_path / "scaled_relu.py",
                models=[model],
                archive=tmp_path / "a.db",
                here=Here((device.cpu(), GPU)),
            )
        with Archive(tmp_path / "a.db", read_only=True) as store:
            assert [run.config.language for run in store.runs()] == ["cpp"]
