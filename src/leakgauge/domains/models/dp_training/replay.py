"""Runs a training with Opacus again, with equal random numbers and equal noisy gradients, but other rows.

Rows may reach a model through noisy gradients alone. In these runs every noisy step gets gradients that are
drawn instead, the same in each run; in the second run every other row is replaced by the one before it. A
parameter, buffer or returned value that then differs has seen rows without noise; one that does not is
post-processing. One more run has another seed, and must add other noise.
"""

import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from hashlib import sha256
from io import BytesIO
from types import FunctionType
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
REPEATS = (
    "The noise repeats: in {:,} of {:,} steps a training with other seeds adds the same noise, and who runs "
    "it again can subtract it."
)
RETURNED = "what is returned"
NOT_TRIED = "what rows reach without noise ({})"
ORDER_UNKNOWN = "whether the gradient of a row depends on others (the rows of batches were not known)"
SHOWN = 3  # names in a sentence
_SEED = 0x5EED  # of the gradients that are drawn
_FAR = 1e-3  # of the largest gradient, or of the noise: rounding moves one by less
_COMPARED = 64  # values of the noise of a step that are compared with those under another seed
_FEWEST_EQUAL = 8  # of them: by chance so many are equal less than once in 1e20 times


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
    noise: list[Reals] = field(default_factory=list)  # of each step
    unread: set[str] = field(default_factory=set)  # kinds of what is returned that cannot be compared
    _roots: dict[int, Any] = field(default_factory=dict)  # modules that were used, optimizers
    _read: list[int] = field(default_factory=list)
    _backwards: int = 0
    _returned: Any = None
    _undo: ExitStack = field(default_factory=ExitStack)
    _inside_backward: bool = False
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

        drawn = torch.Generator().manual_seed(_SEED)
        owners = [(one, name) for one in (DPOptimizer, *subclasses(DPOptimizer)) for name in vars(one)]
        steps = [(one, name) for one, name in owners if name in ("pre_step", "step")]
        changed = [
            *((one, name, self._noisy(vars(one)[name], drawn)) for one, name in steps),
            (PrivacyEngine, "make_private", self._with_rows(vars(PrivacyEngine)["make_private"])),
            (DPDataLoader, "__init__", self._with_rows(vars(DPDataLoader)["__init__"])),
            (torch.autograd, "backward", self._counted(torch.autograd.backward)),
            (torch.autograd, "grad", self._counted(torch.autograd.grad)),
        ]
        with ExitStack() as stack:
            self._undo = stack
            for owner, name, value in changed:
                stack.enter_context(replaced(owner, name, value))
            stack.callback(register_module_forward_pre_hook(lambda module, _: self.see(module)).remove)
            stack.callback(register_optimizer_step_post_hook(self._stepped).remove)
            yield
            self.unused += self._backwards
            returned = {f"- {RETURNED}": _Returned(self).checksum(self._returned)}
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
            self._backwards += not self._inside_backward  # within one Opacus computes gradients of rows
            with replaced(self, "_inside_backward", True):
                return backward(*arguments, **options)

        return counted

    def _with_rows(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """What makes a data loader, whose rows are then read through ``_Rows``."""

        def made(*arguments: Any, **options: Any) -> Any:
            result = make(*arguments, **options)
            loader = arguments[0] if result is None else result[-1]
            if not isinstance(loader.dataset, _Rows):  # a loader refuses that it is set, but reads it
                self._swap_in_place(loader.dataset)
                vars(loader)["dataset"] = _Rows(loader.dataset, self)
            if result is not None:
                self.see(result[0])
            return result

        return made

    def _swap_in_place(self, rows: Any) -> None:
        """Swap rows where they are kept, so that whatever reads them beside the loader sees it too."""
        from torch.utils.data import Subset, TensorDataset

        places = [*range(len(rows))] if self.swapped else []
        while isinstance(rows, Subset):
            places, rows = [rows.indices[place] for place in places], rows.dataset
        odd, before = places[1::2], places[: len(places) // 2 * 2 : 2]
        if isinstance(rows, list):
            self._undo.callback(rows.__setitem__, slice(None), rows[:])
            for place, other in zip(odd, before):
                rows[place] = rows[other if _forms(rows[place]) == _forms(rows[other]) else place]
        for tensor in rows.tensors if isinstance(rows, TensorDataset) else ():
            kept = tensor.data.clone()
            changed = kept.clone()
            changed[odd] = kept[before]
            with suppress(RuntimeError):  # rows that share memory are swapped by the loader alone
                tensor.data.copy_(changed)
                self._undo.callback(tensor.data.copy_, kept)

    def _noisy(self, method: Callable[..., Any], generator: Any) -> Callable[..., Any]:
        """``step`` or ``pre_step`` of Opacus; gradients that are drawn replace those of the latter."""
        import torch

        def watched(optimizer: Any, *arguments: Any, **options: Any) -> Any:
            first = method.__name__ == "pre_step" and not self._inside_pre_step
            if first:
                self._before_step(optimizer)
            inside = replaced(self, "_inside_pre_step", self._inside_pre_step or first)
            with replaced(self, "_depth", self._depth + 1), inside:
                stepped = method(optimizer, *arguments, **options)
            if first and stepped:
                sums = [(one.grad * divisor(optimizer), one.summed_grad) for one in optimizer.params]
                noise = [as_vector(noisy) - as_vector(total) for noisy, total in sums]
                self.noise.append(np.concatenate(noise)[:_COMPARED])
                scale = max(optimizer.noise_multiplier, 1.0) * optimizer.max_grad_norm / divisor(optimizer)
                for parameter in optimizer.params:
                    drawn = torch.randn(parameter.shape, generator=generator)
                    parameter.grad = (drawn * scale).to(parameter)
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
            self.see(optimizer)

    def see(self, one: Any) -> None:
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
        place, row = int(position), self.rows[position]
        before = self.rows[place - 1] if place % 2 else row  # in each run: it may draw random numbers
        swapped = self.run.swapped and place % 2 == 1 and _forms(before) == _forms(row)
        self.run._read.append(place)  # noqa: SLF001 (they are one)
        self.run.stayed[place] = not swapped
        return before if swapped else row


def _forms(row: Any) -> Any:
    """What must be equal in two rows for them to be used alike: shapes, or the length of texts."""
    from torch.utils._pytree import tree_map

    return tree_map(
        lambda value: len(value) if isinstance(value, str) else getattr(value, "shape", type(value)), row
    )


class _Returned(pickle.Pickler):
    """Writes what a training returned; of models what is no parameter or buffer, compared anyway."""

    def __init__(self, run: _Run) -> None:
        self._run, self._seen, self._written = run, dict[int, Any](), BytesIO()
        super().__init__(self._written)

    def checksum(self, returned: Any) -> float:
        try:
            self.dump(returned)
        except Exception:  # anything may go wrong in what others return
            self._run.unread.add("not all of it can be pickled")
        return float(int.from_bytes(sha256(self._written.getvalue()).digest()[:6]))

    def persistent_id(self, value: Any) -> Any:
        """What is written in place of a value, part by part; None where that is the value itself."""
        from torch import Tensor, nn, optim, utils

        kind, module, is_model = type(value), type(value).__module__, isinstance(value, nn.Module)
        if isinstance(value, Tensor):
            return as_vector(value).tobytes()
        if isinstance(value, utils.data.DataLoader | utils.data.Dataset):
            self._run.unread.add(kind.__name__)
            return kind.__name__
        known = isinstance(value, type) or module == "builtins"
        known |= getattr(sys.modules.get(module), kind.__qualname__, None) is kind
        if is_model or isinstance(value, optim.Optimizer):
            self._run.see(value)
        elif known and kind is not FunctionType:
            return "engine" if module.startswith("opacus.") else None
        if id(value) in self._seen:
            return "again"
        self._seen[id(value)] = value
        if kind is FunctionType:
            return [cell.cell_contents for cell in value.__closure__ or ()]
        if not is_model:
            return () if isinstance(value, optim.Optimizer) else vars(value)
        usual = {
            *vars(nn.Module()),
            "activations",
            "max_batch_len",
            "autograd_grad_sample_hooks",
        }  # of Opacus
        own = [one for one in value.modules() if not type(one).__module__.startswith("opacus.")]
        return [{name: part for name, part in vars(one).items() if name not in usual} for one in own]


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


def replay(call: Callable[[Any, Any, int], Any]) -> tuple[tuple[str, str], ...]:
    """Run a training again, and return sentences about what is seen, each with its kind.

    ``call`` runs it within a context; it gets the context, what is put around the training, and a seed, which
    decides on all random numbers.
    """
    try:
        return tuple(_facts(call))
    except BadInput:
        return ((UNREAD, NOT_TRIED.format("the training fails with other rows")),)


def _facts(call: Callable[[Any, Any, int], Any]) -> Iterator[tuple[str, str]]:

    def run(*, swapped: bool = False, seed: int = 0) -> _Run:
        watched = _Run(swapped)
        call(watched.watching(), watched.keeping, seed)
        return watched

    first = run()
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
    if first.unread:
        yield UNREAD, f"{RETURNED} ({', '.join(sorted(first.unread))})"
    pairs = [(one, two) for one, two in zip(first.noise, run(seed=1).noise) if one.shape == two.shape]
    equal = [one.size for one, two in pairs if 0 < abs(one).max() * _FAR > abs(one - two).max()]
    if sum(equal) >= _FEWEST_EQUAL:
        yield CERTAIN, REPEATS.format(len(equal), len(first.noise))
    other = run(swapped=True)
    step, names = _first_difference(first, other)
    batches = list(zip(first.batches, other.batches))
    finite = np.isfinite([*first.states[-1].values()]).all()
    if not finite or all(np.array_equal(one, two) for (_, one), (_, two) in batches):
        yield UNREAD, NOT_TRIED.format("none was read through the private data loader")
    elif names and _first_difference(first, run())[1]:
        yield UNREAD, NOT_TRIED.format("trainings with equal seeds are not equal")
    elif names:
        when = f"after noisy step {step:,}" if step else "before the first noisy step ends"
        shown = ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
        yield CERTAIN, REACHED.format(shown, when)
    else:
        yield from _coupled_rows(batches, other.stayed)


def _first_difference(first: _Run, other: _Run) -> tuple[int, list[str]]:
    """The first state in which two runs differ, and in what; last states only of as many steps."""
    equal = len(first.states) == len(other.states)
    n = len(first.states) if equal else min(len(first.states), len(other.states)) - 1
    for step, (one, two) in enumerate(zip(first.states[:n], other.states[:n])):
        if names := [name for name in one if not np.isclose(one[name], two.get(name, np.nan), rtol=1e-9)]:
            return step, [
                name.split(" ", 1)[1].replace("GradSampleModule._module", "model") for name in names
            ]
    return n, [] if equal else ["the number of steps"]


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
