"""A table as a file holds it, in columns, and the same table encoded for a model: features in [0, 1]."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.errors import BadInput
from leakgauge.support.table_reader import require_known
from leakgauge.support.target_choice import rows_by_name

NumericColumn: TypeAlias = npt.NDArray[np.float64]  # NaN where a value is missing

MAX_VALUES_SHOWN = 20  # in an error message

# Blocks of the data stream, one for each purpose, so that none depends on another.
ROWS_STREAM, DUPLICATES_STREAM, SPLIT_STREAM = range(3)


NAMED_BY_ROW = "by the number of their row, counted from 0, because data.name is not stated"


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A column of texts: a code for each row, and the text of each code."""

    codes: Ints  # -1 where a value is missing
    values: tuple[str, ...]  # in order

    def __len__(self) -> int:
        return self.codes.size

    @property
    def missing(self) -> Bits:
        return self.codes < 0

    def where(self, rows: Bits | Ints) -> "CategoricalColumn":
        """Some of the rows; values that none of them has are dropped."""
        codes = self.codes[rows]
        kept = np.unique(codes[codes >= 0])
        place = np.full(len(self.values) + 1, -1, dtype=np.int64)  # the last one is for missing values
        place[kept] = np.arange(kept.size)
        return CategoricalColumn(place[codes], tuple(self.values[code] for code in kept.tolist()))

    def rows_of(self, value: str, where: str) -> Bits:
        """The rows that have a value; a value that no row has is refused, ``where`` begins the message."""
        if value not in self.values:
            known = ", ".join(self.values[:MAX_VALUES_SHOWN]) + ", ..." * (
                len(self.values) > MAX_VALUES_SHOWN
            )
            raise BadInput(f"{where} = {value!r}: no row has that value; known: {known}")
        return self.codes == self.values.index(value)


TableColumn: TypeAlias = NumericColumn | CategoricalColumn


def categorical(texts: Iterable[str | None]) -> CategoricalColumn:
    """Encode a column of texts: values are numbered in sorted order.

    >>> categorical(["b", "a", None, "b"]).codes.tolist()
    [1, 0, -1, 1]
    """
    seen: dict[str | None, int] = {}
    codes = np.array([seen.setdefault(text, len(seen)) for text in texts], dtype=np.int64)
    values = sorted(text for text in seen if text is not None)
    place = np.full(max(len(seen), 1), -1, dtype=np.int64)
    for code, value in enumerate(values):
        place[seen[value]] = code
    return CategoricalColumn(place[codes], tuple(values))


@dataclass(frozen=True, eq=False, kw_only=True)
class RawTable:
    """What a file holds: features, classes, and the groups of rows, which are not features."""

    features: Mapping[str, TableColumn]
    label: CategoricalColumn
    groups: Mapping[str, CategoricalColumn]
    notes: tuple[str, ...] = ()
    names: CategoricalColumn | None = None  # of the records, for their owner alone

    def __len__(self) -> int:
        return len(self.label)

    def with_groups(self, names: Sequence[str]) -> "RawTable":
        """The same rows, with some text features as groups, which models do not see."""
        features, groups = dict(self.features), dict(self.groups)
        for name in names:
            if name in groups:
                continue
            require_known(name, [*groups, *features], "data.group: no column")
            column = features.pop(name)
            if not isinstance(column, CategoricalColumn):
                raise BadInput(
                    f"data.group: {name!r} holds numbers; a group is one of a few values, so name a column "
                    "of texts"
                )
            groups[name] = column
        return replace(self, features=features, groups=groups)

    def where(self, rows: Bits | Ints) -> "RawTable":
        """Some of the rows."""
        return replace(
            self,
            features={name: _take_rows(column, rows) for name, column in self.features.items()},
            label=self.label.where(rows),
            groups={name: group.where(rows) for name, group in self.groups.items()},
            names=None if self.names is None else self.names.where(rows),
        )


def _take_rows(column: TableColumn, rows: Bits | Ints) -> TableColumn:
    return column.where(rows) if isinstance(column, CategoricalColumn) else column[rows]


def as_tuple(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """One or several names as a tuple."""
    return (names,) if isinstance(names, str) else names


FeatureRows: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedTable:
    """A whole table; a game decides later which rows a model is trained on."""

    rows: FeatureRows  # one row per record, each feature scaled to [0, 1] over all of them
    labels: Ints  # 0..n_classes - 1
    classes: tuple[str, ...]  # their names in the file
    names: tuple[str, ...]  # of the features
    digest: str
    groups: Mapping[str, CategoricalColumn] = field(default_factory=dict)  # not among the features
    notes: tuple[str, ...] = ()  # about the data, for reports; nothing about any row
    raw: Any = None  # the records as the user's own code made them; None: those of a file, encoded
    raw_classes: tuple[Any, ...] | None = None
    tabular: bool = True  # otherwise rows hold only the number of a record
    record_names: tuple[str, ...] | None = None  # for the owner of the data alone; None: their numbers

    @property
    def given_rows(self) -> Any:
        """The records as training code of the user takes them."""
        return self.rows if self.raw is None else self.raw

    @property
    def given_classes(self) -> tuple[Any, ...]:
        """The classes as training code of the user takes them."""
        return tuple(range(self.n_classes)) if self.raw_classes is None else self.raw_classes

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or 0 in self.rows.shape:
            raise BadInput(f"data: rows of shape {self.rows.shape}; one row with one feature is the minimum")
        if self.labels.shape != self.rows.shape[:1]:
            raise BadInput(f"data: {len(self.rows)} rows but {self.labels.size} labels; each row needs one")
        if len(self.names) != self.rows.shape[1]:
            raise BadInput(f"data: {self.rows.shape[1]} features but {len(self.names)} names")
        if not self.n_classes >= 2:
            raise BadInput(
                f"data: all {len(self.rows)} rows have the same label; a classifier needs rows of at least "
                "two classes"
            )
        wrong = ~np.isfinite(self.rows).all(axis=0)
        if wrong.any():
            raise BadInput(f"data: feature {self.names[int(wrong.argmax())]!r} is not finite in all rows")
        for name, group in self.groups.items():
            if len(group) != len(self) or group.missing.any():
                raise BadInput(f"data: group {name!r} does not have a value for each of {len(self)} rows")

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def named_rows(self, names: Sequence[str | int]) -> Ints:
        """The rows of records by name (`data.name`), or by number, counted from 0, where there is none."""
        known = self.record_names or tuple(map(str, range(len(self))))
        how = "by data.name" if self.record_names else NAMED_BY_ROW
        return rows_by_name(
            names,
            {name: row for row, name in enumerate(known)},
            "challenger.targets.names",
            lambda name: f"no record is called {name!r}; records are named {how}",
        )

    def group(self, name: str, where: str) -> CategoricalColumn:
        """One of the groups; ``where`` begins the message about an unknown name."""
        if not self.groups:
            raise BadInput(f"{where} = {name!r}: the data have no groups; add group = {name!r} to data")
        require_known(name, list(self.groups), f"{where}: no group of the data (data.group names them)")
        return self.groups[name]
