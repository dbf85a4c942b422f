"""Columns of the file that a plan names: who is a member, labels, and numbers as they stand there."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.database import Connection
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.core.settings import require

Labels: TypeAlias = npt.NDArray[np.object_]  # floats, or texts

_SIZES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
NUMBERS = (*_SIZES, *(f"U{name}" for name in _SIZES), "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")
IN, OUT, OWN = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no"), ("", "reference")


@dataclass(frozen=True, eq=False)
class Membership:
    """Who is a member, and which rows are nobody's: they belong to the adversary."""

    members: Bits
    reference: Bits


@dataclass(frozen=True, eq=False)
class Columns:
    """An open file; messages name its columns."""

    connection: Connection
    types: dict[str, str]
    path: Path

    def __post_init__(self) -> None:
        if not self.n_rows:
            raise BadInput(f"data.source: {self.path.name} has no rows")

    @property
    def n_rows(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM given").fetchone()[0])

    def require(self, name: str, key: str) -> None:
        """Refuse a name that no column has; ``key`` is where the plan says it."""
        require(name, list(self.types), f"data.{key}: no column of {self.path.name}")

    def holds_numbers(self, name: str) -> bool:
        return self.types[name].partition("(")[0] in NUMBERS

    def numbers(self, name: str, key: str) -> Reals:
        """A column of numbers, all of them there and finite."""
        self.require(name, key)
        if not self.holds_numbers(name):
            raise BadInput(
                f"data.{key}: {name!r} of {self.path.name} holds {self.types[name]}, not numbers; name a "
                "column of numbers"
            )
        query = f"SELECT CAST({_quoted(name)} AS DOUBLE) AS it FROM given"
        found = np.ma.filled(self.connection.execute(query).fetchnumpy()["it"], np.nan).astype(np.float64)
        if (lost := np.flatnonzero(~np.isfinite(found))).size:
            raise BadInput(
                f"data.{key}: {name!r} has no finite number in {lost.size} of {found.size} rows, the first "
                f"of them row {lost[0]} (counted from 0); mend or remove them"
            )
        return found

    def matrix(self, names: Sequence[str], key: str) -> Reals:
        """Several columns of numbers, side by side."""
        return np.column_stack([self.numbers(name, key) for name in names])

    def texts(self, name: str, key: str) -> list[str | None]:
        """Any column, as texts."""
        self.require(name, key)
        query = f"SELECT CAST({_quoted(name)} AS VARCHAR) FROM given"
        return [text for (text,) in self.connection.execute(query).fetchall()]

    def labels(self, name: str) -> Labels:
        """The true classes: numbers where the column has some, else texts."""
        self.require(name, "label")
        if self.holds_numbers(name) and self.types[name] != "BOOLEAN":
            return np.array(self.numbers(name, "label").tolist(), dtype=object)
        found = self.texts(name, "label")
        if None in found:
            raise BadInput(
                f"data.label: {name!r} has no value in {found.count(None)} of {len(found)} rows; mend or "
                "remove them"
            )
        return np.array(found, dtype=object)

    def membership(self, name: str) -> Membership:
        """Who is in: 1 or 0, true or false, yes or no; an empty value is a row of the adversary."""
        texts = [(text or "").strip().lower() for text in self.texts(name, "member")]
        for row, text in enumerate(texts):
            if text not in (*IN, *OUT, *OWN):
                raise BadInput(
                    f"data.member: {name!r} is {text[:40]!r} in row {row} (counted from 0); write 1 or 0, "
                    "true or false, yes or no; leave it empty (or write reference) in rows of the adversary"
                )
        members = np.array([text in IN for text in texts])
        reference = np.array([text in OWN for text in texts])
        n_in, n_out = int(members.sum()), int((~members & ~reference).sum())
        if not (n_in and n_out):
            raise BadInput(
                f"data.member: {name!r} says that {n_in} records are in and {n_out} are not; both kinds are "
                "needed, or there is nothing to tell apart"
            )
        return Membership(members[~reference], reference)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
