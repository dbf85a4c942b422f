"""Watches trainings with Opacus as they are: ``PrivacyEngine`` and its optimizers, without any change.

Within ``watching_opacus``, every optimizer step that adds noise is reported to a ``StepWatch``: the gradients
before they are clipped, their sum before and after the noise, and what the accountant recorded. The canary is
put into the gradients of the batch, after the sampler. Nothing happens where Opacus is not installed.
"""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.dp_training.step_watch import (
    DIRAC_LENGTH,
    Accounted,
    StepSums,
    StepWatch,
    as_vector,
)

PROBED_STEPS = 3  # in which the sum is computed with and without the canary
_SAME = 1e-4  # of a vector: what the optimizer gets is the noisy sum, scaled


@contextmanager
def watching_opacus(watch: StepWatch, *, by_hand: bool = False) -> Iterator[None]:
    """Report all steps of Opacus within the context.

    It is imported only if the training may use it: loops written by hand have their own ``watch``.
    """
    if "opacus" not in sys.modules and (by_hand or find_spec("opacus") is None):
        yield
        return
    from opacus import PrivacyEngine
    from opacus.optimizers import DPOptimizer
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

    hook = _OpacusHook(watch)
    with ExitStack() as stack:
        for owner in (DPOptimizer, *subclasses(DPOptimizer)):
            if "pre_step" in vars(owner):
                stack.enter_context(replaced(owner, "pre_step", hook.watched_step(vars(owner)["pre_step"])))
        backward = vars(DPTensorFastGradientClipping)["backward"]
        stack.enter_context(
            replaced(DPTensorFastGradientClipping, "backward", hook.watched_backward(backward))
        )
        make_private = vars(PrivacyEngine)["make_private"]
        stack.enter_context(replaced(PrivacyEngine, "make_private", hook.watched_engine(make_private)))
        try:
            yield
        finally:
            watch.accounted = hook.accounted


def subclasses(owner: Any) -> Iterator[Any]:
    """All classes that derive from a class."""
    for child in owner.__subclasses__():
        yield child
        yield from subclasses(child)


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute within the context; afterwards it is where it was before, or nowhere."""
    there, before = name in vars(owner), vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if there:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


@dataclass(eq=False)
class _OpacusHook:
    """The state of one training."""

    watch: StepWatch
    _accountant: Any = None
    _inside: bool = False
    _others: Reals | None = None
    _batch_size: int = 0
    _factors: Any = None  # by which ghost clipping scaled the loss of each example last
    _longest: float = 0.0  # gradient that it let through in this step, in clips; NaN where that is unknown
    _now: dict[str, Any] = field(default_factory=dict)

    @property
    def accounted(self) -> Accounted | None:
        """What the accountant recorded; nothing where there is none."""
        if self._accountant is None:
            return None
        entries = [tuple(entry) for entry in self._accountant.history]
        return Accounted(
            sigmas=tuple(float(entry[0]) for entry in entries),
            rates=tuple(float(entry[1]) for entry in entries),
            steps=tuple(int(entry[2]) for entry in entries),
        )

    def watched_engine(self, make_private: Callable[..., Any]) -> Callable[..., Any]:
        """``PrivacyEngine.make_private`` that remembers the accountant and the number of rows."""

        def make(engine: Any, *arguments: Any, **options: Any) -> Any:
            made = make_private(engine, *arguments, **options)
            self.watch.start_from(*[one for one in made[0].parameters() if one.requires_grad])
            self._accountant = engine.accountant
            self.watch.rows = len(made[-1].dataset)
            return made

        return make

    def watched_backward(self, backward: Callable[[Any], None]) -> Callable[[Any], None]:
        """The backward passes of ghost clipping; the last of them scales the loss of each example."""

        def watched(loss: Any) -> None:
            if loss.loss_per_sample.requires_grad:
                loss.loss_per_sample.register_hook(partial(setattr, self, "_factors"))
            backward(loss)

        return watched

    def watched_step(self, pre_step: Callable[..., Any]) -> Callable[..., Any]:
        """``DPOptimizer.pre_step`` with a canary in the batch, or without it."""

        def watched(optimizer: Any, *arguments: Any, **options: Any) -> Any:
            if self._inside:  # called by the method of a subclass
                return pre_step(optimizer, *arguments, **options)
            self._inside = True
            self._now = {}
            try:
                self._before(optimizer)
                noise = self._watched_noise(optimizer, optimizer.add_noise)
                with replaced(optimizer, "add_noise", noise):
                    stepped = pre_step(optimizer, *arguments, **options)
                if stepped:
                    self._after(optimizer)
                return stepped
            finally:
                self._inside = False

        return watched

    def _before(self, optimizer: Any) -> None:
        """Put the canary into the last part of a batch, and compute the sum of all others."""
        if hasattr(optimizer, "unclipped_num"):
            raise BadInput(
                "adaptive clipping of Opacus changes its noise in every step; use clipping = 'flat'"
            )
        if hasattr(optimizer, "max_grad_norms"):
            raise BadInput(
                "each layer is clipped for itself, and the length of the canary is that of all layers; use "
                "clipping = 'flat'"
            )
        if self._accountant is not None and len({entry[0] for entry in self._accountant.history}) > 1:
            raise BadInput(
                "the noise multiplier changes between steps, so that none is the one which the claim needs; "
                "audit it without a noise scheduler"
            )
        if _has_no_examples(optimizer):
            norms = [as_vector(one._norm_sample) for one in optimizer.params]  # noqa: SLF001 (else unknown)
            lengths, factors = np.linalg.norm(norms, axis=0), self._factors
            known = factors is not None and factors.numel() == lengths.size
            scaled = lengths * as_vector(factors) / float(optimizer.max_grad_norm) if known else [np.nan]
            self._longest = np.maximum(self._longest, np.max(scaled, initial=0.0))
            self._batch_size, self._factors = self._batch_size + lengths.size, None
            return
        others = _example_gradients(optimizer)
        last = not optimizer._check_skip_next_step(pop_next=False)  # noqa: SLF001 (else more parts follow)
        clip = float(optimizer.max_grad_norm)
        part = _clipped_sum(others, clip)
        self._others = part if self._others is None else self._others + part
        self._batch_size += len(others[0])
        if not last:
            return
        canary = self._crafted(others, clip)
        self._now["canary"] = _clipped_sum(canary, clip)
        self._now["influence"] = np.nan
        present = self.watch.present
        if self.watch.n_steps < PROBED_STEPS:
            self._now["influence"] = _influence(optimizer, others, canary) / clip
        _set_last_part(optimizer, canary if present else None)

    def _crafted(self, others: list[Any], clip: float) -> list[Any]:
        """A canary that the watch crafts, as one row for each parameter."""
        shapes = [part.shape[1:] for part in others]
        sizes = [math.prod(shape) for shape in shapes]
        parts = np.split(DIRAC_LENGTH * clip * self.watch.crafted_canary(sizes), np.cumsum(sizes)[:-1])
        return [one.new_tensor(part).view(1, *shape) for one, part, shape in zip(others, parts, shapes)]

    def _watched_noise(self, optimizer: Any, add_noise: Callable[[], None]) -> Callable[[], None]:
        """The optimizer's own noise, or none in the positive control; sums are read before and after."""

        def add() -> None:
            if _has_no_examples(optimizer):
                self._now["influence"] = self._longest
                self._add_to_sum(optimizer)
            self._now["clipped"] = _flat(parameter.summed_grad for parameter in optimizer.params)
            noise = 0.0 if self.watch.noiseless else optimizer.noise_multiplier
            with replaced(optimizer, "noise_multiplier", noise):
                add_noise()
            self._now["noisy"] = _flat(parameter.grad for parameter in optimizer.params)

        return add

    def _add_to_sum(self, optimizer: Any) -> None:
        """Where there are no gradients of examples (ghost clipping), the canary is added to their sum."""
        parameters, clip = list(optimizer.params), float(optimizer.max_grad_norm)
        self._others = _flat(parameter.summed_grad for parameter in parameters)
        canary = self._crafted([parameter.summed_grad[None] for parameter in parameters], clip / DIRAC_LENGTH)
        self._now["canary"] = _flat(canary)
        if self.watch.present:
            for parameter, row in zip(parameters, canary):
                parameter.summed_grad += row[0]

    def _after(self, optimizer: Any) -> None:
        """Report the step: what reaches the inner optimizer, not only what the noise was added to."""
        self.watch.by_opacus = True
        given = _flat(parameter.grad for parameter in optimizer.params) * divisor(optimizer)
        clipped = self._now.get("clipped")
        if clipped is None:  # noise is added in another way
            clipped = _flat(parameter.summed_grad for parameter in optimizer.params)
        noisy, divided = self._now.get("noisy", given), np.nan
        share = float(given @ noisy) / max(float(noisy @ noisy), 1e-300)
        if np.linalg.norm(given - share * noisy) <= _SAME * np.linalg.norm(given):
            divided = 1 / share if share else np.nan
        else:
            noisy = given
        self.watch.record(
            StepSums(
                others=self._others,
                canary=self._now.get("canary"),
                clipped=clipped,
                noisy=noisy,
                clip=float(optimizer.max_grad_norm),
                batch_size=self._batch_size,
                divided=divided,
                influence=self._now.get("influence", np.nan),
            )
        )
        self._others, self._batch_size, self._longest = None, 0, 0.0


def _has_no_examples(optimizer: Any) -> bool:
    """Whether gradients are clipped without computing those of each example (ghost clipping)."""
    return hasattr(optimizer, "accumulate")


def _example_gradients(optimizer: Any) -> list[Any]:
    """The gradients of the examples in this part of a batch: one tensor for each parameter."""
    return [rows.detach() for rows in optimizer.grad_samples]


def _set_last_part(optimizer: Any, canary: list[Any] | None) -> None:
    """Put a canary below the gradients of the last backward pass, if there is one."""
    import torch

    for place, parameter in enumerate(optimizer.params):
        parts = parameter.grad_sample
        rows = (parts[-1] if isinstance(parts, list) else parts).detach()
        rows = rows.clone() if canary is None else torch.cat([rows, canary[place].to(rows.dtype)])
        parameter.grad_sample = [*parts[:-1], rows] if isinstance(parts, list) else rows


def _influence(optimizer: Any, others: list[Any], canary: list[Any]) -> float:
    """How far the optimizer's own clipping lets the canary move the sum; all is as before afterwards."""
    import torch

    parameters = list(optimizer.params)
    before = [(parameter.grad_sample, parameter.summed_grad) for parameter in parameters]
    sums = []
    for rows in ([torch.cat([part, row]) for part, row in zip(others, canary)], others):
        for parameter, part in zip(parameters, rows):
            parameter.grad_sample, parameter.summed_grad = part.clone(), None
        optimizer.clip_and_accumulate()
        sums.append(_flat(parameter.summed_grad for parameter in parameters))
    for parameter, (gradients, total) in zip(parameters, before):
        parameter.grad_sample, parameter.summed_grad = gradients, total
    return float(np.linalg.norm(sums[0] - sums[1]))


def divisor(optimizer: Any) -> float:
    """By what the noisy sum of a step is divided."""
    if optimizer.loss_reduction != "mean":
        return 1.0
    return float(optimizer.expected_batch_size * optimizer.accumulated_iterations)


def _flat(tensors: Any) -> Reals:
    return np.concatenate([as_vector(tensor) for tensor in tensors])


def _clipped_sum(tensors: list[Any], clip: float) -> Reals:
    """The sum of gradients of examples, over all parameters, each clipped to this length."""
    rows = [part.reshape(len(part), math.prod(part.shape[1:])) for part in tensors]  # also of no examples
    squared = sum(part.double().square().sum(dim=1) for part in rows)
    factors = (clip / squared.sqrt().clamp(min=1e-300)).clamp(max=1.0)
    return _flat(factors.to(part.dtype) @ part for part in rows)
