"""The columns of a table as its file has them: numbers and texts, before a model can read them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.core.settings import require

Ints: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.float64]  # NaN where a value is missing

SHOWN = 20  # values that a message names


@dataclass(frozen=True, eq=False)
class Category:
    """A column of texts: a code for each row, and what each code stands for."""

    codes: Ints  # -1 where a value is missing
    values: tuple[str, ...]  # in order

    def __len__(self) -> int:
        return self.codes.size

    @property
    def missing(self) -> Bits:
        return self.codes < 0

    def where(self, rows: Bits | Ints) -> "Category":
        """Some of the rows; values that none of them has are forgotten."""
        codes = self.codes[rows]
        kept = np.unique(codes[codes >= 0])
        place = np.full(len(self.values) + 1, -1, dtype=np.int64)  # the last one is for what is missing
        place[kept] = np.arange(kept.size)
        return Category(place[codes], tuple(self.values[code] for code in kept.tolist()))

    def rows_of(self, value: str, where: str) -> Bits:
        """The rows that have a value; one that no row has is refused, and ``where`` begins the message."""
        if value not in self.values:
            known = ", ".join(self.values[:SHOWN]) + ", ..." * (len(self.values) > SHOWN)
            raise BadInput(f"{where} = {value!r}: no row has that value; known: {known}")
        return self.codes == self.values.index(value)


Column: TypeAlias = Numbers | Category


def category(texts: Iterable[str | None]) -> Category:
    """Number the values of a column of texts in their order.

    >>> category(["b", "a", None, "b"]).codes.tolist()
    [1, 0, -1, 1]
    """
    seen: dict[str | None, int] = {}
    codes = np.array([seen.setdefault(text, len(seen)) for text in texts], dtype=np.int64)
    values = sorted(text for text in seen if text is not None)
    place = np.full(max(len(seen), 1), -1, dtype=np.int64)
    for code, value in enumerate(values):
        place[seen[value]] = code
    return Category(place[codes], tuple(values))


@dataclass(frozen=True, eq=False, kw_only=True)
class Sheet:
    """What a file holds: features, the classes, and the groups that rows belong to, which are no features."""

    features: Mapping[str, Column]
    label: Category
    groups: Mapping[str, Category]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.label)

    def grouped(self, names: Sequence[str]) -> "Sheet":
        """The same rows, with some features of texts as groups: they can then give nothing away."""
        features, groups = dict(self.features), dict(self.groups)
        for name in names:
            if name in groups:
                continue
            require(name, [*groups, *features], "data.group: no column")
            column = features.pop(name)
            if not isinstance(column, Category):
                raise BadInput(
                    f"data.group: {name!r} holds numbers; a group is one of a few values, so bring a column "
                    "of texts"
                )
            groups[name] = column
        return replace(self, features=features, groups=groups)

    def where(self, rows: Bits | Ints) -> "Sheet":
        """Some of the rows."""
        return replace(
            self,
            features={name: _some(column, rows) for name, column in self.features.items()},
            label=self.label.where(rows),
            groups={name: group.where(rows) for name, group in self.groups.items()},
        )


def _some(column: Column, rows: Bits | Ints) -> Column:
    return column.where(rows) if isinstance(column, Category) else column[rows]


def listed(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """One name, or several."""
    return (names,) if isinstance(names, str) else names
