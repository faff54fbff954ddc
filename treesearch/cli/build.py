"""`treesearch build`: the workbench of whoever writes a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treesearch.cli import common
from treesearch.errors import UsageError

if TYPE_CHECKING:
    from treesearch.languages import Language


@click.command()
@click.argument("problem")
@click.argument("file")
@common.device_option
@common.archive_option
def build(problem: str, file: str, device: str, archive: str | None) -> None:
    """Build FILE as a kernel of PROBLEM and print what the compiler and the disassembler say: errors and warnings,
    registers, spills, shared memory, instructions. Exits with 1 where it does not build.

    It needs no GPU, runs nothing, and says nothing of how fast or how right the kernel is. A FILE's suffix says its
    language: .cpp or .cu.
    """
    from treesearch import languages
    from treesearch.api import read_source
    from treesearch.evaluation.build import build as compiled
    from treesearch.evaluation.build import told
    from treesearch.problem import load
    from treesearch.view.text import visible

    source, language = read_source(Path(file)), languages.of_file(Path(file))
    if not language.sealed:
        raise UsageError("A module is compiled when it is imported; run it, or judge it with `treesearch evaluate`.")
    built = compiled(load(problem), language, source, _architecture(device, language, archive))
    click.echo(visible(told(language, built)))
    if built.library is None:
        raise click.exceptions.Exit(1)


def _architecture(device: str, language: Language, archive: str | None) -> str:
    """That of the device named, else of this machine's; nothing, where it has none, leaves it to the language."""
    from treesearch.errors import MachineError
    from treesearch.evaluation import target

    if device == target.AUTO:
        try:
            return target.at_hand(language).device.architecture
        except MachineError:  # without a GPU, for the architecture that the language builds for by default
            return ""
    with common.archives(archive) as stores:
        known = [one for store in stores for one in store.devices()]
    return target.named(device, language.name, known).device.architecture
