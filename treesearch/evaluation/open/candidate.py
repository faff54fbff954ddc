"""A candidate's ModelNew over one set of shared buffers."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import increment_version

from treesearch.evaluation.baseline import Subject
from treesearch.evaluation.open import adopt, contract, manners
from treesearch.evaluation.open.bare import KERNEL, NOTHING, Bare
from treesearch.evaluation.open.contract import Belongings, Broken, memory
from treesearch.evaluation.open.loans import LOT, Loan, refuse_changed
from treesearch.problem.reference import assign, buffers, weights

LEFT_OTHERWISE = "forward leaves another mode than it found: gradients, autocast, default dtype or device, or training"
FIRST_CALLS = 3
"""Of a model, before it is asked anything, with answers that may be shown."""
CALLS_HELD = 4
"""For so many calls, on average, the answers of one are held."""


class Candidate(Bare):
    """A model whose parameters are the shared ones, and whose outputs are copied out after each call, untimed."""

    def __init__(
        self,
        model: object,
        bare: Bare,
        others: Sequence[Bare] = (),
        layouts: manners.Layouts | None = None,
        shown: int = 0,
    ) -> None:
        """Raises Broken where the model is none, or has other parameters or buffers than the reference. `others` are
        the sets that it may be launched on as well; several candidates may have `layouts` in common. `shown` says
        which of its first calls has its answers in the shared buffers afterwards."""
        if not isinstance(model, nn.Module):
            raise Broken("ModelNew is not a torch.nn.Module")
        self.device, self.poisons, self.wanted = bare.device, bare.poisons, bare.wanted
        self.subject = self.latest = bare.subject
        self.model = _moved(model, self.device)
        self.copy: nn.Module | None = None
        self.layouts = layouts or manners.Layouts()
        self.returned: object = None
        """What the last forward returned, just as it did, until `settle` has looked at it."""
        self.poisoned: list[torch.Tensor] = []
        self.held: list[torch.Tensor] = []
        """Poisoned outputs of some earlier call that its caller still holds, as of the last one."""
        self.replayed = False
        """Whether the last call was the replay of a captured one, whose outputs every further replay writes to."""
        self.changing = self._adopt()
        self.others = [one.subject for one in others if one is not bare] or [bare.subject]
        """The other sets, or its own where there is none."""
        self.belongings = Belongings(self.model, [one.subject.inputs for one in others or (bare,)])
        self.subject.calls = {KERNEL: self._forward, NOTHING: lambda *inputs: None}
        self.modes = contract.modes(self.model)
        self.same = False
        """Whether the last time that inputs lay where others had they were the same tensors."""
        self.last = self._checked(self.subject.call(KERNEL, self.subject.scalars)[1])
        answers = [output.clone() for output in self.last]
        self._refuse_reuse()
        self.settle()
        for number in range(1, FIRST_CALLS):
            self._renew()
            self.last = self._checked(self.subject.call(KERNEL, self.subject.scalars)[1])
            answers = [output.clone() for output in self.last] if number == shown else answers
            self.settle()  # which leaves nothing of them
        for which in self.subject.calls:
            self.subject.warm_up(which)
        self._show(answers)

    def otherwise(self, manner: str, scalars: list[Any], subject: Subject) -> str:
        """One call that nobody times, made in another manner, with its outputs in the shared buffers.

        Returns why the module refused, which is visible to whoever calls it so, and no wrong answer.
        """
        self._renew()
        self.latest = subject
        try:
            inputs = subject.arguments(scalars)
            if manner == manners.COPIED:
                returned = self._of_a_copy(inputs)
            else:
                with manners.frozen(self.model):
                    returned = self._returned(manner, inputs, scalars)
        except Broken:
            raise
        except Exception as error:  # a module may refuse with whatever it likes
            return f"{type(error).__name__}: {error}"
        self.last, self.replayed = [output.detach() for output in self._checked(returned)], False
        self._hand_over()
        self.settle()
        return ""

    def _returned(self, manner: str, inputs: list[Any], scalars: list[Any]) -> list[object]:
        if manner == manners.EVALUATING:
            return self._evaluated(inputs, scalars)
        if manner == manners.REFILLED:
            return self._refilled(inputs, scalars)
        if manner == manners.DIFFERENTIATED:
            return self._differentiated(inputs)
        answered: list[object] = manners.call(manner, self.model, self._lent_in_its_modes, inputs, self.layouts)
        return answered

    def launch(self, which: str, scalars: list[Any], subject: Subject) -> int:
        nanoseconds = super().launch(which, scalars, subject)
        if which == KERNEL:
            self.replayed = subject.replays(which)
        return nanoseconds

    def _renew(self) -> None:
        """And others have changed parameters and inputs, as an optimizer would: tensors count that."""
        super()._renew()
        if self.replayed:
            self.poisoned = []
        if not LOT.randrange(CALLS_HELD):
            self.held = self.poisoned
        inputs = [value for value in self.latest.inputs if isinstance(value, torch.Tensor)]
        increment_version([*self.model.parameters(), *self.model.buffers(), *inputs])

    def _kept(self) -> list[object]:
        copied = buffers(self.copy).values() if self.copy else ()  # its own, and what it keeps of its last call
        return [*self._given(), *copied]

    def _given(self) -> list[object]:
        """What is not the model's to answer in, unless the reference does."""
        return [*super()._kept(), *(own for own, _ in self.changing)]

    def settle(self) -> None:
        """Raises Broken where the last call changed what is its caller's, a mode among it, or answered in memory that
        it may not.

        To look takes longer than some kernels: it is done when nobody takes the time.
        """
        self.belongings.refuse_changes()
        if contract.modes(self.model) != self.modes:
            raise Broken(LEFT_OTHERWISE)
        for output in (*self.poisoned, *self.held):
            if not _is_poison(output):
                raise Broken("a call writes to what an earlier one has returned, and its caller may still hold")
        contract.refuse(self.returned, self._given(), self.wanted)
        self.returned = None

    def _evaluated(self, inputs: Sequence[Any], scalars: list[Any]) -> list[object]:
        """What is answered after `.eval()` where there was a call before, on other inputs and with other weights in the
        same memory: neither that call nor `.eval()` may have kept anything of them."""
        own, other = weights(self.model), LOT.choice(self.others)
        held = {name: tensor.clone() for name, tensor in own.items()}
        assign(self.model, held)
        try:
            for tensor in held.values():
                tensor.copy_(tensor.flip(0) if tensor.dim() else -tensor)
            with manners.evaluating(self.model):
                self._lent(self.model, other.arguments(scalars))
                self._renew()
                for name, tensor in held.items():
                    tensor.copy_(own[name])
                return self._lent_in_its_modes(self.model, inputs)
        finally:
            assign(self.model, own)

    def _refilled(self, inputs: Sequence[Any], scalars: list[Any]) -> list[object]:
        """What is answered, with the same weights, where other contents lay before: once to tensors that are new as
        objects, and once to those of before, written to as through an array that has their memory. No count tells."""
        other = LOT.choice(self.others).arguments(scalars)
        held = [value.clone() if isinstance(value, torch.Tensor) else value for value in other]
        given = list(map(_anew, held))
        self._refuse_writing(given)
        self._forward_of(self.model, *given)
        refuse_changed(held, other)
        super()._renew()
        for place, value in zip(held, inputs, strict=True):
            if isinstance(place, torch.Tensor):
                place.copy_(value)
        self.same = not self.same
        if not self.same:
            return self._lent_in_its_modes(self.model, held)
        answered = self._in_its_modes(lambda: self._forward_of(self.model, *given))
        refuse_changed(held, inputs)
        return answered

    def _refuse_writing(self, inputs: Sequence[Any]) -> None:
        """What is answered to these may be what the next call is given, as such or as another tensor of its memory."""
        answers = self._checked(self._forward_of(self.model, *inputs))
        given, fitting = list(inputs), set(range(len(answers)))
        for place, value in enumerate(inputs):
            if found := sorted(number for number in fitting if contract.alike(answers[number], value)):
                fitting.remove(found[0])
                given[place] = answers[found[0]].detach() if self.same else answers[found[0]]
        if len(fitting) < len(answers):
            before = [answer.clone() for answer in answers]
            self._forward_of(self.model, *given)
            if not all(map(contract.equal, before, answers)):
                raise Broken("a call writes to its input, where that is what an earlier one has returned")

    def _differentiated(self, inputs: Sequence[Any]) -> list[object]:
        """What is answered with gradients enabled, and the modes once nobody holds the answer any more."""
        with torch.enable_grad():
            before = contract.modes(self.model)
            answered = self._lent(self.model, inputs, self.layouts.origin())
            outputs: list[object] = [output.detach().clone() for output in self._checked(answered)]
            answered, self.returned = [], None
            if contract.modes(self.model) != before:
                raise Broken(LEFT_OTHERWISE)
            return outputs

    def _of_a_copy(self, inputs: Sequence[Any]) -> list[object]:
        """What a deep copy answers while the model itself holds zeros, of which the copy must not know."""
        self._refuse_fading(inputs)
        copied, own = self._copied(), weights(self.model)
        assign(self.model, {name: torch.zeros_like(tensor) for name, tensor in own.items()})
        try:
            with manners.frozen(copied):
                return self._lent(copied, inputs)
        finally:
            assign(self.model, own)

    def _lent_in_its_modes(self, model: nn.Module, inputs: Sequence[Any]) -> list[object]:
        return self._in_its_modes(lambda: self._lent(model, inputs))

    def _in_its_modes(self, call: Callable[[], list[object]]) -> list[object]:
        before = contract.modes(self.model)
        answered = call()
        if contract.modes(self.model) != before:
            raise Broken(LEFT_OTHERWISE)
        return answered

    def _lent(self, model: nn.Module, inputs: Sequence[Any], origin: manners.Origin = manners.as_data) -> list[object]:
        """What is answered to inputs that perhaps nobody else holds."""
        loan = Loan(inputs, origin)
        answered = self._dense(model(*loan.given()))
        loan.refuse_changes()
        return answered

    def _copied(self) -> nn.Module:
        """A deep copy with the model's contents: a later call finds the same copy, which got other contents."""
        self.copy = self.copy or manners.copied(self.model)
        manners.update(self.copy, self.model)
        return self.copy

    def _refuse_fading(self, inputs: Sequence[Any]) -> None:
        """What a copy takes along when it goes is nobody else's, nor are its answers."""
        another = manners.copied(self.model)
        answers, self.returned = self._checked(self._lent(another, inputs)), None
        before = [answer.clone() for answer in answers]
        del another
        gc.collect()
        if not all(map(contract.equal, before, answers)):
            raise Broken("what a deep copy has answered changes when the copy goes")

    def _refuse_reuse(self) -> None:
        """An output is the caller's: the next call must not write over it, as a buffer that the model keeps would, even
        where all that its caller has kept is its memory."""
        before = [output.detach() for output in self.last]
        self.last, self.returned = [], None
        self.last = self._checked(self.subject.call(KERNEL, self.subject.scalars)[1])
        given = {memory(tensor) for tensor in (*self.subject.state.values(), *self.subject.inputs)}
        for index, (output, earlier) in enumerate(zip(self.last, before, strict=True)):
            if output.numel() and memory(output) == memory(earlier) and memory(output) not in given:
                raise Broken(f"output {index} is in memory that an earlier call's still holds, and overwrites it")

    def _adopt(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Give the model the shared parameters. Returns its own copies of buffers, beside the shared ones.

        A forward may change its buffers, which the shared ones do not allow.
        """
        parameters, held = weights(self.model), buffers(self.model)
        wanted = {name: tensor for name, tensor in self.subject.state.items() if name in self.subject.parameters}
        others = {name: tensor for name, tensor in self.subject.state.items() if name not in wanted}
        try:
            by_name = adopt.places("parameter", wanted, parameters, held)
            of_buffers = adopt.places("buffer", others, held, parameters)
        except adopt.Differs as difference:
            raise Broken(str(difference)) from None
        own = {name: tensor.clone() for name, tensor in others.items()}
        assign(self.model, {place: wanted[name] for name, place in by_name.items()})
        assign(self.model, {place: own[name] for name, place in of_buffers.items()})
        self._refuse_hidden(wanted)
        return [(own[name], others[name]) for name in others]

    def _refuse_hidden(self, parameters: adopt.Tensors) -> None:
        """What a user saves and loads are the parameters."""
        held = {memory(tensor) for tensor in self.model.state_dict().values()}
        if lost := [name for name, tensor in parameters.items() if memory(tensor) not in held]:
            raise Broken(f"state_dict() does not hold what the reference has as {lost[0]}")

    def _forward(self, *inputs: Any) -> list[object]:
        """What is timed: outputs are dense when the clock stops, and nothing runs any more on any stream."""
        return self._forward_of(self.model, *inputs)

    def _forward_of(self, model: nn.Module, *inputs: Any) -> list[object]:
        return self._dense(model(*inputs))

    def _dense(self, returned: object) -> list[object]:
        self.returned = returned
        outputs = contract.listed(returned)
        dense = [_dense(output) if isinstance(output, torch.Tensor) else output for output in outputs]
        if self.device.type == "cuda" and not torch.cuda.is_current_stream_capturing():
            torch.cuda.synchronize()
        return dense


def _anew(value: object) -> object:
    """A tensor of the same memory that nobody has seen or counted changes of."""
    return value.data if isinstance(value, torch.Tensor) else value


def _is_poison(output: torch.Tensor) -> bool:
    with torch.inference_mode():
        return bool((output.isnan() if output.is_floating_point() else output == 1).all())


def _dense(output: torch.Tensor) -> torch.Tensor:
    """With every element computed and in its place: a view may still owe a sign, a conjugate, or copies."""
    return output.resolve_conj().resolve_neg().contiguous()


def _moved(model: nn.Module, device: torch.device) -> nn.Module:
    """With all that it holds on the device, tensors in plain attributes included; parameters may be trained."""
    model = model.to(device)
    for parameter in model.parameters():
        parameter.requires_grad_(parameter.is_floating_point() or parameter.is_complex())
    assign(model, {name: tensor.to(device) for name, tensor in buffers(model).items()})
    return model
