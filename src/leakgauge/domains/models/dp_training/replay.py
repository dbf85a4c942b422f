"""Runs a training with Opacus again, with equal random numbers and equal noisy gradients, but other rows.

Rows may reach a model through noisy gradients alone. In these runs every noisy step gets gradients that are
drawn instead, the same in each run; in the second run every other row is replaced by the one before it. A
parameter or buffer that then differs has seen rows without noise; one that does not is post-processing.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.dp_training.opacus_hook import divisor, replaced, subclasses
from leakgauge.domains.models.dp_training.step_watch import as_vector

State: TypeAlias = dict[str, float]  # a checksum of each parameter and buffer
CERTAIN, DEPARTURE, UNREAD, BEFORE = "certain", "departure", "unread", "before"
REACHED = (
    "Rows reach {} without noise: with equal random numbers and equal noisy gradients, but another row, they "
    "differ {}."
)
SEEN_BEFORE = (
    "Parameters were trained before the first noisy step, on rows that are not seen here; if these are "
    'public, state it: pretrained = "public".'
)
COUPLED = (
    "The gradient of a row changes with the other rows of its batch, as by batch statistics or a loss that "
    "compares rows: clipping it does not bound what one row changes."
)
NOT_TRIED = "what rows reach without noise ({})"
ORDER_UNKNOWN = "whether the gradient of a row depends on others (the rows of batches were not known)"
SHOWN = 3  # names in a sentence
_SEED = 0x5EED  # of the gradients that are drawn
_FAR = 1e-3  # of the largest gradient: rounding moves one by less


@dataclass(eq=False)
class _Run:
    """One run of the training, and what was seen of it."""

    swapped: bool
    states: list[State] = field(default_factory=list)  # before each step, and at the end
    batches: list[tuple[Any, Reals]] = field(
        default_factory=list
    )  # their rows and seed, a number for each row
    plain: Counter[str] = field(default_factory=Counter)  # steps of optimizers outside of noisy steps
    before: bool = False  # whether anything was trained before the first noisy step
    unused: int = 0  # backward passes that no noisy step used
    stayed: dict[int, bool] = field(default_factory=dict)  # of the rows that were read
    _roots: dict[int, Any] = field(default_factory=dict)  # modules that were used, optimizers
    _read: list[int] = field(default_factory=list)
    _backwards: int = 0
    _returned: Any = None
    _depth: int = 0  # of calls of a noisy step
    _inside_pre_step: bool = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        import torch
        from opacus import PrivacyEngine
        from opacus.data_loader import DPDataLoader
        from opacus.optimizers import DPOptimizer
        from torch.nn.modules.module import register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook
        from torch.utils._pytree import tree_leaves

        drawn = torch.Generator().manual_seed(_SEED)
        owners = [(one, name) for one in (DPOptimizer, *subclasses(DPOptimizer)) for name in vars(one)]
        steps = [(one, name) for one, name in owners if name in ("pre_step", "step")]
        changed = [
            *((one, name, self._noisy(vars(one)[name], drawn)) for one, name in steps),
            (PrivacyEngine, "make_private", self._with_rows(vars(PrivacyEngine)["make_private"])),
            (DPDataLoader, "__init__", self._with_rows(vars(DPDataLoader)["__init__"])),
            (torch.autograd, "backward", self._counted(torch.autograd.backward)),
        ]
        with ExitStack() as stack:
            for owner, name, value in changed:
                stack.enter_context(replaced(owner, name, value))
            stack.callback(register_module_forward_pre_hook(lambda module, _: self._see(module)).remove)
            stack.callback(register_optimizer_step_post_hook(self._stepped).remove)
            yield
            self.unused += self._backwards
            leaves = tree_leaves(self._returned)
            for model in (one for one in leaves if hasattr(one, "named_parameters")):
                self._see(model)
            arrays = [as_vector(one) for one in leaves if math.prod(getattr(one, "shape", ())) > 1]
            returned = {
                f"- what is returned ({i})": float(one @ _mixture(one.size)) for i, one in enumerate(arrays)
            }
            self.states.append(self._state() | returned)

    def keeping(self, train: Callable[..., Any]) -> Callable[..., Any]:
        """The training, whose models and arrays that it returns are compared as well."""

        @wraps(train)
        def kept(*arguments: Any, **options: Any) -> Any:
            self._returned = train(*arguments, **options)
            return self._returned

        return kept

    def _counted(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self._backwards += 1
            return backward(*arguments, **options)

        return counted

    def _with_rows(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """What makes a data loader, whose rows are then read through ``_Rows``."""

        def made(*arguments: Any, **options: Any) -> Any:
            result = make(*arguments, **options)
            loader = arguments[0] if result is None else result[-1]
            if not isinstance(loader.dataset, _Rows):  # a loader refuses that it is set, but reads it
                vars(loader)["dataset"] = _Rows(loader.dataset, self)
            if result is not None:
                self._see(result[0])
            return result

        return made

    def _noisy(self, method: Callable[..., Any], generator: Any) -> Callable[..., Any]:
        """``step`` or ``pre_step`` of Opacus; gradients that are drawn replace those of the latter."""
        import torch

        def watched(optimizer: Any, *arguments: Any, **options: Any) -> Any:
            first = method.__name__ == "pre_step" and not self._inside_pre_step
            if first:
                self._before_step(optimizer)
            self._depth, self._inside_pre_step = self._depth + 1, self._inside_pre_step or first
            try:
                stepped = method(optimizer, *arguments, **options)
            finally:
                self._depth, self._inside_pre_step = self._depth - 1, self._inside_pre_step and not first
            if first and stepped:
                scale = max(optimizer.noise_multiplier, 1.0) * optimizer.max_grad_norm / divisor(optimizer)
                for parameter in optimizer.params:
                    noise = torch.randn(parameter.shape, generator=generator)
                    parameter.grad = (noise * scale).to(parameter)
            return stepped

        return watched

    def _before_step(self, optimizer: Any) -> None:
        import torch

        ghost = hasattr(optimizer, "accumulate")  # Opacus then goes back twice
        parts = getattr(optimizer.params[0], "grad_sample", None)
        used = 2 if ghost else len(parts) if isinstance(parts, list) else 1
        self.unused += max(self._backwards - used, 0)
        if not self.states:
            self.before = bool(self.unused or self.plain)
            self.unused = 0
            self.plain.clear()
        seed = hash(torch.get_rng_state().numpy().tobytes())
        self.batches.append(((*self._read, seed), _row_numbers(optimizer.params, ghost=ghost)))
        self.states.append(self._state())
        self._backwards = 0
        self._read.clear()

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        if not self._depth and not hasattr(optimizer, "original_optimizer"):
            self.plain[type(optimizer).__name__] += 1
            self._see(optimizer)

    def _see(self, one: Any) -> None:
        self._roots.setdefault(id(one), one)

    def _state(self) -> State:
        tensors = {
            id(tensor): (f"{number} {type(root).__name__}.{name}", tensor)
            for number, root in reversed([*enumerate(self._roots.values())])  # the outermost names a tensor
            for name, tensor in _named_tensors(root)
        }
        return {name: float(as_vector(one) @ _mixture(one.numel())) for name, one in tensors.values()}


@dataclass(eq=False)
class _Rows:
    """The rows of a data set, of which every other one is the row before it where the run says so."""

    rows: Any
    run: _Run

    def __len__(self) -> int:
        return len(self.rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.rows, name)

    def __getitem__(self, position: Any) -> Any:
        from torch.utils._pytree import tree_map

        place, row = int(position), self.rows[position]
        before = self.rows[place - 1] if place % 2 else row  # in each run: it may draw random numbers
        forms = [tree_map(_form, one) for one in (before, row)]
        swapped = self.run.swapped and place % 2 == 1 and forms[0] == forms[1]
        self.run._read.append(place)  # noqa: SLF001 (they are one)
        self.run.stayed[place] = not swapped
        return before if swapped else row


def _form(value: Any) -> Any:
    """What must be equal in two rows for them to be used alike: shapes, or the length of texts."""
    return len(value) if isinstance(value, str) else getattr(value, "shape", type(value))


def _named_tensors(root: Any) -> Sequence[tuple[str, Any]]:
    if not hasattr(root, "param_groups"):
        return [*root.named_parameters(), *root.named_buffers()]
    tensors = [one for group in root.param_groups for one in group["params"]]
    return [(f"parameter {number}", tensor) for number, tensor in enumerate(tensors)]


def _mixture(n: int) -> Reals:
    """Weights of a sum that is another one for almost any other values."""
    return 1.5 + np.sin(np.arange(1, n + 1, dtype=np.float64))


def _row_numbers(parameters: Sequence[Any], *, ghost: bool) -> Reals:
    """One number for the gradient of each row; of ghost clipping its length alone is known."""
    if ghost:
        return np.array([as_vector(one._norm_sample) for one in parameters]).sum(axis=0)  # noqa: SLF001
    parts = [one.grad_sample for one in parameters]
    rows = [(part[-1] if isinstance(part, list) else part).detach().double().flatten(1) for part in parts]
    return np.sum([as_vector(one @ one.new_tensor(_mixture(one.shape[1]))) for one in rows], axis=0)


def replay(call: Callable[[Any, Any], Any]) -> tuple[tuple[str, str], ...]:
    """Run a training again, and return sentences about what is seen, each with its kind.

    ``call`` runs it within a context, with the same random numbers each time; it gets the context, and what
    is put around the training.
    """
    try:
        return tuple(_facts(call))
    except BadInput:
        return ((UNREAD, NOT_TRIED.format("the training fails with other rows")),)


def _facts(call: Callable[[Any, Any], Any]) -> Iterator[tuple[str, str]]:

    def run(*, swapped: bool) -> _Run:
        watched = _Run(swapped)
        call(watched.watching(), watched.keeping)
        return watched

    first = run(swapped=False)
    if len(first.states) < 2:  # no step of Opacus
        return
    if first.before:
        yield BEFORE, SEEN_BEFORE
    if first.plain:
        stepped = ", ".join(f"{name} ({n:,})" for name, n in sorted(first.plain.items()))
        yield DEPARTURE, f"Steps of optimizers are outside of the noisy steps, and get no noise: {stepped}."
    elif first.unused:
        passes = f"{first.unused:,} backward passes belong to no noisy step"
        yield DEPARTURE, f"{passes}: what uses their gradients gets no noise."
    other = run(swapped=True)
    step, names = _first_difference(first, other)
    pairs = list(zip(first.batches, other.batches))
    finite = np.isfinite([*first.states[-1].values()]).all()
    if not finite or all(np.array_equal(one, two) for (_, one), (_, two) in pairs):
        yield UNREAD, NOT_TRIED.format("none was read through the private data loader")
    elif names and _first_difference(first, run(swapped=False))[1]:
        yield UNREAD, NOT_TRIED.format("trainings with equal seeds are not equal")
    elif names:
        when = f"after noisy step {step:,}" if step else "before the first noisy step ends"
        shown = ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
        yield CERTAIN, REACHED.format(shown, when)
    else:
        yield from _coupled_rows(pairs, other.stayed)


def _first_difference(first: _Run, other: _Run) -> tuple[int, list[str]]:
    """The first state in which two runs differ, and in what."""
    for step, (one, two) in enumerate(zip(first.states, other.states)):
        if names := [name for name in one if not np.isclose(one[name], two.get(name, np.nan), rtol=1e-9)]:
            return step, [
                name.split(" ", 1)[1].replace("GradSampleModule._module", "model") for name in names
            ]
    return len(first.states), [] if len(first.states) == len(other.states) else ["the number of steps"]


def _coupled_rows(pairs: Sequence[Any], stayed: dict[int, bool]) -> Iterator[tuple[str, str]]:
    """Whether the gradient of a row that stayed is another one beside other rows."""
    compared = False
    for (rows, one), (same, two) in pairs:
        if rows != same or len(rows) != len(one) + 1:
            continue
        kept = np.array([stayed[place] for place in rows[:-1]], dtype=np.bool_)
        compared |= bool(kept.any() and not kept.all())
        if (np.abs(one - two)[kept] > _FAR * np.abs(one).max(initial=0.0)).any():
            yield DEPARTURE, COUPLED
            return
    if not compared:
        yield UNREAD, ORDER_UNKNOWN
