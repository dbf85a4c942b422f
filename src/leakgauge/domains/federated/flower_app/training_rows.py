"""Which rows a client trains on: what enters its network, compared with the rows that it read."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

Example = tuple[bytes, ...]
"""Digests of what enters the network for one example, one for each tensor."""


@dataclass(eq=False)
class TrainingRows:
    """Watches a client: the rows that it reads, and what enters its network while it trains.

    An app may read a row once and train on it many times, or read rows that it leaves out. An example belongs
    to a row if the network gets what was read of it; ``known`` are digests of that, with the rows that have
    it. The network is the first module with parameters that runs to be trained, and that no other module
    calls.
    """

    known: dict[bytes, set[int]] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    step_ends: list[int] = field(default_factory=list)  # how many examples entered before each step
    is_complete: bool = True  # whether all that is trained on was seen
    _reads: list[int] = field(default_factory=list)
    _root: Any = None
    _depth: int = 0
    _n_clipped: int = 0

    def note_read(self, number: int, item: Any) -> None:
        """Note a row that the client reads, by its number among those of the game."""
        self._reads.append(number)
        for part in _numeric_parts(item):
            self.known.setdefault(_digest(part), set()).add(number)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the network within the context."""
        from torch.nn.modules import module

        before = module.register_module_forward_pre_hook(self._enter)
        after = module.register_module_forward_hook(self._leave, with_kwargs=True, always_call=True)
        try:
            yield
        finally:
            before.remove()
            after.remove()

    def _enter(self, module: Any, given: Any) -> None:
        import torch

        self._depth += 1
        if self._root is None and self._depth == 1 and module.training and torch.is_grad_enabled():
            self._root = module if next(module.parameters(), None) is not None else None

    def _leave(self, module: Any, given: Any, named: Any, returned: Any) -> None:
        import torch

        self._depth -= 1
        if module is self._root and module.training and torch.is_grad_enabled():
            self._add((*given, *named.values()))

    def _add(self, given: Sequence[Any]) -> None:
        import torch

        tensors = [value.detach().cpu() for value in given if isinstance(value, torch.Tensor)]
        sizes = {len(tensor) if tensor.dim() else -1 for tensor in tensors}
        if len(sizes) != 1 or -1 in sizes:
            self.is_complete = False
            return
        self.examples.extend(zip(*([_digest(row) for row in tensor] for tensor in tensors)))

    def note_clipped(self, n_examples: int | None, *, is_step: bool) -> None:
        """Note how many gradients of examples an optimiser clips, if known, and whether it takes a step."""
        self._n_clipped += len(self.examples) - self._n_clipped if n_examples is None else n_examples
        self.is_complete &= self._n_clipped == len(self.examples)
        if is_step:
            self.step_ends.append(len(self.examples))

    def rows(self) -> list[Sequence[int]] | None:
        """The rows behind each example; None if one of them is not known.

        Where no single row explains all that enters the network for an example, it is of several. Equal rows
        are told apart by the order in which they were read, if each read was used once; otherwise examples
        count for all of them.
        """
        if not self.is_complete or not all(part in self.known for one in self.examples for part in one):
            return None
        rows: dict[Example, list[int]] = {}
        for one in set(self.examples):
            parts = [self.known[part] for part in one]
            rows[one] = sorted(set.intersection(*parts) or set.union(*parts))
        uses = Counter(self.examples)
        in_turn = {}
        for one, numbers in rows.items():
            reads = [number for number in self._reads if number in numbers] if len(numbers) > 1 else []
            if len(reads) == uses[one]:
                in_turn[one] = iter(reads)
        return [[next(in_turn[one])] if one in in_turn else rows[one] for one in self.examples]

    def learn(self, rows: Sequence[Sequence[int]]) -> None:
        """Know the examples from now on, by the rows that were found behind them."""
        for example, numbers in zip(self.examples, rows):
            for part in example:
                self.known.setdefault(part, set()).update(numbers)

    def steps(self, rows: Sequence[Sequence[int]]) -> list[npt.NDArray[np.int64]]:
        """Divide the rows behind all examples by steps; what no step follows has no effect."""
        starts = [0, *self.step_ends[:-1]]
        return [
            np.array([row for one in rows[start:end] for row in one], np.int64)
            for start, end in zip(starts, self.step_ends)
        ]


def rows_by_exchange(
    examples: Sequence[Example], n_rows: int, run: Callable[[npt.NDArray[np.bool_]], Sequence[Example]]
) -> list[Sequence[int]] | None:
    """Find the row behind each example by runs in which some rows are others; None if there is no such row.

    An app may change rows after it reads them. Each bit of a row's number takes two runs with the same seed:
    one in which rows with that bit are exchanged, and one with all others. An example changes in exactly one
    of each two if it depends on a single row, and these runs then spell the number of that row.
    """
    numbers = np.zeros(len(examples), np.int64)
    for bit in range(max(1, (n_rows - 1).bit_length())):
        has_bit = (np.arange(n_rows) >> bit & 1).astype(bool)
        changed = []
        for exchanged in (has_bit, ~has_bit):
            others = run(exchanged)
            if len(others) != len(examples):
                return None
            changed.append(np.array([one != other for one, other in zip(examples, others)], bool))
        if not np.all(changed[0] ^ changed[1]):
            return None
        numbers += changed[0].astype(np.int64) << bit
    return [(int(number),) for number in numbers]


def _numeric_parts(item: Any) -> Iterator[npt.NDArray[Any]]:
    if isinstance(item, Mapping | tuple | list):
        for part in item.values() if isinstance(item, Mapping) else item:
            yield from _numeric_parts(part)
    elif (values := np.asarray(item)).dtype.kind in "iufb":
        yield values


def _digest(values: Any) -> bytes:
    """Of the numbers in single precision, whatever their shape."""
    return sha256(np.ascontiguousarray(np.asarray(values, np.float32)).tobytes()).digest()
