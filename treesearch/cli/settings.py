"""The settings of a search, each a flag, a variable and a key of treesearch.toml under one name; flags come first."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from treesearch.cli import common
from treesearch.errors import UsageError

if TYPE_CHECKING:
    from treesearch.records import Price

FILE = "treesearch.toml"
PRICES = "prices"
EFFORTS = ("minimal", "low", "medium", "high")
POLICIES = ("diverse", "fastest")
LANGUAGES = ("auto", "cpp", "cuda", "module")
_META = "treesearch.settings"


class Setting(click.Option):
    """An option that a variable (`TREESEARCH_` and its name) and the settings file may set as well.

    `unset` says what leaving it out means, where that is no value of its own.
    """

    def __init__(self, flag: str, *, unset: str = "", help: str, **attributes: Any) -> None:
        shown = f"{help.removesuffix('.')} [default: {unset}]." if unset else help
        super().__init__([flag], help=shown, show_default="default" in attributes, **attributes)
        self.unset = unset
        self.key = str(self.name)
        self.envvar = f"TREESEARCH_{self.key.upper()}"

    def get_error_hint(self, ctx: click.Context | None) -> str:
        match ctx.get_parameter_source(self.key) if ctx else None:
            case ParameterSource.ENVIRONMENT:
                return str(self.envvar)
            case ParameterSource.DEFAULT_MAP if ctx:
                return f"{self.key} in {file_of(ctx).path}"
        return super().get_error_hint(ctx)


def count(flag: str, least: int, unset: str, help: str) -> Setting:
    return Setting(flag, type=click.IntRange(min=least), unset=unset, help=help)


def limit(flag: str, kind: click.ParamType[Any], help: str) -> Setting:
    return Setting(flag, type=kind, unset="none", help=help)


ABOVE_ZERO = click.FloatRange(min=0, min_open=True)
SHARE = click.FloatRange(min=0, max=1, min_open=True)
AT_LEAST_ONE = click.IntRange(min=1)

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "--model",
        multiple=True,
        metavar="MODEL",
        unset="that of the first key that is set, else recorded answers",
        help="A litellm string, file/DIR, cmd/COMMAND or replay/ARCHIVE; repeat to mix, =2 doubles its share.",
    ),
    Setting("--idea-model", multiple=True, metavar="MODEL", help="Ask this one for ideas instead."),
    Setting("--code-model", multiple=True, metavar="MODEL", help="Ask this one for kernels instead."),
    count("--rounds", 0, "5", "Rounds after the first kernels."),
    count("--ideas", 1, "8", "Ideas a round."),
    count("--implementations", 1, "3", "Implementations of each idea."),
    count("--beam", 1, "4", "Parents of a round, and first kernels."),
    count("--repairs", 0, "1", "Repairs of a kernel that fails."),
    Setting("--policy", type=click.Choice(POLICIES), default="diverse", help="How parents are picked."),
    Setting("--language", type=click.Choice(LANGUAGES), default="auto", help="Kernel language."),
    Setting(
        "--device",
        metavar="DEVICE",
        default="auto",
        help="Device to run on, here or elsewhere: an id, a part of its name, or a file of `treesearch device`.",
    ),
    Setting("--deadline", type=common.Seconds(), default=20.0, help="Seconds a candidate may run."),
    Setting("--temperature", type=float, unset="the provider's", help="Sampling temperature."),
    Setting("--max-tokens", type=AT_LEAST_ONE, unset="the provider's", help="Longest answer in tokens."),
    Setting("--effort", type=click.Choice(EFFORTS), unset="the provider's", help="Reasoning effort."),
    Setting("--api-base", metavar="URL", unset="the provider's", help="Address of the models' endpoint."),
    Setting("--timeout", type=common.Seconds(), default=600.0, help="Seconds one answer may take."),
    Setting("--concurrency", type=AT_LEAST_ONE, default=64, help="Questions to one model in flight at once."),
    limit("--calls-per-minute", ABOVE_ZERO, "Questions to one model that may begin in a minute."),
    Setting(
        "--prompts",
        metavar="DIR",
        unset="none",
        help="Templates that take the place of the shipped ones of the same name.",
    ),
    Setting("--wait", is_flag=True, help="With file/: wait for the answers instead of stopping with exit code 75."),
    limit("--budget-usd", ABOVE_ZERO, "US dollars that answers may cost."),
    limit("--budget-tokens", AT_LEAST_ONE, "Tokens that models may read and write."),
    limit("--max-evaluations", AT_LEAST_ONE, "Kernels to ask for and judge."),
    limit("--max-minutes", ABOVE_ZERO, "Minutes of this command, after which nothing more is asked."),
    limit("--stop-at-speedup", ABOVE_ZERO, "Begin no round once the winner is surely this much faster than torch."),
    limit("--stop-at-floor", SHARE, "Begin no round once the winner has this share of the floor's speed."),
    limit("--patience", AT_LEAST_ONE, "Begin no round after so many without a clear gain."),
)


@dataclass(frozen=True)
class File:
    """What the settings file says, if there is one."""

    path: Path | None = None
    values: Mapping[str, str | list[str]] | None = None
    prices: tuple[Price, ...] = ()


def _load(ctx: click.Context, option: click.Parameter, given: Path | None) -> None:
    path = given or Path(FILE)
    found = read(path) if given or path.exists() else File()
    ctx.meta[_META] = found
    ctx.default_map = dict(found.values or {})


config_option = click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="TREESEARCH_CONFIG",
    is_eager=True,
    expose_value=False,
    callback=_load,
    help=f"Settings as TOML: flags' names, with underscores [default: {FILE}, if there is one].",
)


def file_of(ctx: click.Context) -> File:
    """The settings file of a command with `config_option`."""
    found = ctx.meta[_META]
    assert isinstance(found, File)
    return found


def source_of(setting: Setting, ctx: click.Context) -> str:
    """Where a setting's value comes from: its flag, its variable, the file, or `default`."""
    match ctx.get_parameter_source(setting.key):
        case ParameterSource.ENVIRONMENT:
            return str(setting.envvar)
        case ParameterSource.DEFAULT_MAP:
            return str(file_of(ctx).path)
        case ParameterSource.DEFAULT:
            return "default"
    return setting.opts[0]


def search_arguments(ctx: click.Context) -> dict[str, Any]:
    """Keywords of `treesearch.search` that a command's settings make."""
    from treesearch.models import ModelOptions
    from treesearch.records import Budget, Sampling

    given = {setting.key: ctx.params[setting.key] for setting in SETTINGS}
    same = ("rounds", "ideas", "implementations", "beam", "repairs", "policy", "language", "device", "prompts")
    try:
        budget = Budget(
            usd=given["budget_usd"],
            tokens=given["budget_tokens"],
            evaluations=given["max_evaluations"],
            minutes=given["max_minutes"],
            speedup=given["stop_at_speedup"],
            floor=given["stop_at_floor"],
            patience=given["patience"],
        )
    except ValueError as error:  # nan, which no range refuses, and infinity
        raise UsageError(f"These settings do not fit: {error}.") from error
    return {
        **{name: given[name] for name in same},
        "models": given["model"],
        "idea_models": given["idea_model"],
        "code_models": given["code_model"],
        "deadline_seconds": given["deadline"],
        "sampling": Sampling(given["temperature"], given["max_tokens"], given["effort"]),
        "options": ModelOptions(
            timeout_seconds=given["timeout"],
            concurrency=given["concurrency"],
            calls_per_minute=given["calls_per_minute"],
            api_base=given["api_base"],
            wait=given["wait"],
        ),
        "budget": budget,
        "prices": file_of(ctx).prices,
    }


# ── the file ────────────────────────────────────────────────────────────────────────────────────


def read(path: Path) -> File:
    """The settings of a TOML file. Raises UsageError where it cannot be read, or holds what is no setting."""
    import tomllib

    try:
        found = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error
    except ValueError as error:  # not TOML, or not text
        raise UsageError(f"{path} is no TOML: {error}.") from error
    prices = found.pop(PRICES, {})
    multiple = {setting.key: setting.multiple for setting in SETTINGS}
    for key in found:
        _check_key(key, (*multiple, PRICES), str(path))
    values = {key: _written(value, multiple[key], f"{key} in {path}") for key, value in found.items()}
    return File(path, values, _prices(prices, f"{PRICES} in {path}"))


def _check_key(key: str, known: tuple[str, ...], where: str) -> None:
    if key not in known:
        close = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}."
        raise UsageError(f"There is no setting {key!r}, as named in {where}; {hint}")


def _written(value: object, multiple: bool, where: str) -> str | list[str]:
    """A value as a flag would have it, so that both are checked alike."""
    if multiple and isinstance(value, list):
        return [str(_written(item, False, where)) for item in value]
    if not isinstance(value, str | int | float):
        raise UsageError(f"{where} must be one value, or a list where a flag may be repeated.")
    return [str(value)] if multiple else str(value)


def _prices(table: object, where: str) -> tuple[Price, ...]:
    """One price for each model, a table with `input` and `output`."""
    from treesearch.records import Price

    if not isinstance(table, dict):
        raise UsageError(f"{where} must be a table for each model, with input and output in dollars a million tokens.")
    prices = []
    for model, price in table.items():
        for key in price if isinstance(price, dict) else ():
            _check_key(key, ("input", "output"), f"{where}, {model}")
        try:
            prices.append(Price(model, **{key: _number(price[key]) for key in ("input", "output")}))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{where}: {model} needs input and output, in dollars per million tokens.") from error
    return tuple(prices)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return float(value)
