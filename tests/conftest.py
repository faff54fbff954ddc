"""What every test relies on: nothing of the user's environment, a cache, a reason where a GPU or browser is absent."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from treesearch.cli.settings import SETTINGS
from treesearch.evaluation import SPINS
from treesearch.languages import CUDA

BUSY = {
    "reruns": 2,
    "only_rerun": [
        r"(?im)^(?:AssertionError: )?assert (?:(?!verified).)*\bsuspect\b",
        r"No kernel was verified: .*\bsuspect\b",
        r"\A\S*Failed: work goes on after launch has returned\Z",
    ],
}
"""A test that got `suspect` where it wanted `verified` is tried again, and listed at the end: kernels are timed on this
machine's clock, and a neighbour on it makes honest ones suspect. So is one whose search ended for want of a verified
kernel, with `suspect` among the verdicts, and one that wanted a verdict where threads that wait seemed to work, since a
neighbour kept them from running. No other failure is tried again, a hostile kernel that was verified least of
all; assertions name what they got first."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names of browsers that tests of pages drive, in the order in which they are looked for."""
HIDDEN = {"TREESEARCH_ARCHIVE", "TREESEARCH_CONFIG", "PYTEST_ADDOPTS", *(setting.envvar for setting in SETTINGS)}


def pytest_configure() -> None:
    """Hide the user's keys, archive and settings: no test may spend money or touch recorded work, and tests that are
    exported run as their users run them. And hear Ctrl-C: what a shell starts in the background ignores it, as would
    the commands that tests interrupt. And, as the command line does, have torch's idle threads sleep."""
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name in HIDDEN:
            del os.environ[name]


@pytest.fixture(scope="session", autouse=True)
def tests_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for the whole test run: what is the same is built once, whoever times a kernel waits for the builds of
    others and keeps them waiting, and ~/.cache is left alone."""
    own = tmp_path_factory.getbasetemp()  # of a worker, where several run
    home = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREESEARCH_CACHE", str(home))
        yield home


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    judging = [item for item in items if _may_judge(item)]
    for item in judging:
        if item.get_closest_marker("gpu") or not item.get_closest_marker("untimed"):
            item.add_marker(pytest.mark.timed)  # it may be there already, and wins
    if config.pluginmanager.hasplugin("rerunfailures"):  # a machine that judges for others may lack it
        for item in judging:
            item.add_marker(pytest.mark.flaky(**BUSY))
    longest = {item.path for item in judging}
    items.sort(key=lambda item: item.path not in longest)  # what begins last should not take minutes
    if shutil.which("g++") is None:
        for item in items:
            if item.get_closest_marker("compiler"):
                item.add_marker(pytest.mark.skip(reason="g++ is absent (apt-get install g++)"))
    with_nvcc = [item for item in items if item.get_closest_marker("nvcc")]
    if with_nvcc and (CUDA.compiler() is None or shutil.which("g++") is None):
        for item in with_nvcc:
            item.add_marker(pytest.mark.skip(reason="nvcc, or the g++ that it needs, is absent (make nvcc)"))
    in_browser = [item for item in items if item.get_closest_marker("browser")]
    if in_browser and (why := _no_browser()):
        for item in in_browser:
            item.add_marker(pytest.mark.skip(reason=why))
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu and not _has_gpu():
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device on this machine"))


def _may_judge(item: pytest.Item) -> bool:
    """Whether it may judge kernels, as whatever builds one here may do."""
    marked = any(map(item.get_closest_marker, ("timed", "untimed", "compiler", "gpu")))
    return marked or "compiler" in getattr(item, "fixturenames", ())


def _no_browser() -> str:
    """Why no test can drive one; empty where all is there."""
    if not any(map(shutil.which, CHROMIUM)):
        return "Chromium is absent (apt-get install chromium)"
    return "" if importlib.util.find_spec("playwright") else "Playwright's Python package is not installed"


def _has_gpu() -> bool:
    import torch  # two seconds, which only a collection with GPU tests should pay

    return torch.cuda.is_available()
