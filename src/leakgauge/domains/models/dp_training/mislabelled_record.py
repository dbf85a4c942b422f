"""A canary that is a record with a wrong label: its gradient is in every batch unless a coin removes it."""

from collections.abc import Iterator
from typing import Any

from leakgauge.core.errors import BadInput

_SEARCHED = 1000  # records in which another label is looked for


class CanaryDataset:
    """The user's data set with one record more at its end: the first one, with a wrong label."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.canary = mislabelled(dataset)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, position: int) -> Any:
        return self.canary if position == len(self.dataset) else self.dataset[position]


class CanaryBatches:
    """The user's batches, each with the position of the canary at its end."""

    def __init__(self, batches: Any, position: int) -> None:
        self.batches, self.position = batches, position

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.batches:
            yield [*batch, self.position]


def mislabelled(dataset: Any) -> Any:
    """The first record with the label of another one; records must be (features, label)."""
    first = dataset[0]
    if not isinstance(first, tuple | list) or len(first) != 2:
        raise BadInput(
            "challenger.canary: a wrong label needs records of the form (features, label); use 'dirac'"
        )
    for position in range(1, min(len(dataset), _SEARCHED)):
        label = dataset[position][1]
        if bool((label != first[1]).any() if hasattr(label, "any") else label != first[1]):
            return [first[0], label] if isinstance(first, list) else (first[0], label)
    raise BadInput(f"challenger.canary: the first {_SEARCHED} records have one label only; use 'dirac'")
