"""Records as JSON: the same record comes back, and whatever does not fit is refused by the name of its field."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from treesearch.records import (
    Accuracy,
    Argument,
    Build,
    Config,
    Device,
    Evaluation,
    Measurement,
    Problem,
    Protocol,
    Rate,
    Ratio,
    Role,
    Signature,
    Status,
    Timing,
    codec,
)

EVALUATION = Evaluation(
    status=Status.VERIFIED,
    device="0123456789ab",
    protocol=Protocol(0.01, threads=3),
    accuracy=Accuracy(12, math.nan, math.inf, "float64", "float32-like"),
    measurement=Measurement(
        Timing((0.1, 1 / 3)),
        Timing((2.0,)),
        Ratio(6.0, -math.inf, 7.0),
        Timing((1e-7,)),
        Ratio(1.0, 0.5, 1.5),
    ),
    build=Build("g++ -O3", 0.25, True, "a log with \x1b, ünïcode, \u2028 and \ud800"),
    software=("torch 2.13.0", "g++ 12"),
    seed=2**62,
)
PROBLEM = Problem("p", "class Model: ...", Signature((Argument("x", Role.INPUT, "float32", (2, 3), "x"),)), flops=None)
GPU = Device("cuda", "H100", 132, 1 << 36, architecture="sm_90a", bandwidth=3e12, rates=(Rate("tf32", 4e14),))


@pytest.mark.parametrize("record", [EVALUATION, PROBLEM, GPU, Config(models=("openai/o3",))])
def test_a_record_comes_back_as_it_was(record: Any) -> None:
    text = codec.canonical(codec.encode(record))
    assert text.isascii()
    assert "\n" not in text
    # NaN is unlike itself, so texts are compared: they hold every field.
    assert codec.canonical(codec.encode(codec.decode(type(record), codec.parse(text)))) == text


def test_an_integer_where_a_number_belongs_is_a_number() -> None:
    decoded = codec.decode(Protocol, {"tolerance": 0.01, "deadline_seconds": 20})
    assert decoded.id == Protocol(0.01, 20.0).id


def changed(**fields: object) -> dict[str, object]:
    encoded = codec.encode(EVALUATION)
    assert isinstance(encoded, dict)
    return {**encoded, **fields}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (changed(seed="7"), r"Evaluation\.seed is '7', which is no int"),
        (changed(seed=True), r"Evaluation\.seed is True"),
        (changed(seconds="soon"), r"Evaluation\.seconds is 'soon', which is no number"),
        (changed(seconds=10**400), r"Evaluation\.seconds is 1000"),
        (changed(status="splendid"), r"Evaluation\.status is 'splendid', which is no Status"),
        (changed(software="torch"), r"Evaluation\.software is 'torch', which is no list"),
        (changed(software=["torch", 2]), r"Evaluation\.software\[1\] is 2"),
        (changed(protocol={"tolerance": None}), r"Evaluation\.protocol\.tolerance is None"),
        (changed(protocol={}), r"Evaluation\.protocol lacks tolerance$"),
        (changed(protocol=[]), r"Evaluation\.protocol is \[\], which is no object"),
        (changed(score=1), r"Evaluation has a field 'score' that is not known here"),
        (changed(status="wrong"), r"Evaluation: a kernel that is wrong has no measurement"),
        (None, "Evaluation is None"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(value: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        codec.decode(Evaluation, value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is no JSON .Expecting value"),
        ("{", "Expecting property name"),
        ("NaN", "NaN is not JSON"),
        ('{"a": Infinity}', "Infinity is not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_not_json_is_a_value_error(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        codec.parse(text)


def test_a_seal_holds_through_a_file_and_breaks_with_any_change() -> None:
    encoded = codec.encode(EVALUATION)
    assert isinstance(encoded, dict)
    sealed = json.loads(json.dumps(codec.seal(encoded), indent=3, ensure_ascii=True))
    assert codec.unseal(sealed) == encoded
    with pytest.raises(ValueError, match="digest does not match"):
        codec.unseal({**sealed, "seed": 3})
    with pytest.raises(ValueError, match="has no digest"):
        codec.unseal(encoded)
