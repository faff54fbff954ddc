"""A candidate's parameters and buffers in place of the reference's: by name, or else in order."""

from __future__ import annotations

from collections.abc import Mapping

import torch

Tensors = Mapping[str, torch.Tensor]
NAMED = 4
"""Differences that a sentence lists."""


class Differs(Exception):
    """The candidate does not have the reference's parameters or buffers; the text names what differs."""


def places(kind: str, wanted: Tensors, own: Tensors, other: Tensors) -> dict[str, str]:
    """For each wanted tensor's name, that of the candidate's tensor that stands for it.

    `kind` is `parameter` or `buffer`; `own` are the candidate's tensors of that kind and `other` those of the other
    one, in which a name is looked for as well. A parameter too many would keep its first values, whatever the
    reference's are, so that these have to agree to the last; buffers of its own may serve a candidate as constants.
    """
    everything = {**other, **own}
    named = all(name in everything and _form(everything[name]) == _form(wanted[name]) for name in wanted)
    if named and (kind == "buffer" or not own.keys() - wanted.keys()):
        return {name: name for name in wanted}
    if [_form(tensor) for tensor in own.values()] == [_form(tensor) for tensor in wanted.values()]:
        return dict(zip(wanted, own, strict=True))
    raise Differs(_difference(kind, wanted, own, everything))


def _form(tensor: torch.Tensor) -> tuple[tuple[int, ...], torch.dtype]:
    return tuple(tensor.shape), tensor.dtype


def _told(tensor: torch.Tensor) -> str:
    return f"{tuple(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"


def _difference(kind: str, wanted: Tensors, own: Tensors, everything: Tensors) -> str:
    missing = [f"lacks {name}, {_told(tensor)}" for name, tensor in wanted.items() if name not in everything]
    other = [
        f"has {name} as {_told(everything[name])} instead of {_told(tensor)}"
        for name, tensor in wanted.items()
        if name in everything and _form(everything[name]) != _form(tensor)
    ]
    more = [f"has {name}, {_told(tensor)}, which the reference has not" for name, tensor in own.items()]
    more = [text for name, text in zip(own, more, strict=True) if name not in wanted] if kind == "parameter" else []
    listed = [*missing, *other, *more]
    left = f" and {len(listed) - NAMED} more differences" if len(listed) > NAMED else ""
    return f"ModelNew's {kind}s are not the reference's, by name or in order: it {'; '.join(listed[:NAMED])}{left}"
