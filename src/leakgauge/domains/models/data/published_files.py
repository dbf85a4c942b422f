"""What every reader of a published data set provides, and how its files are found and parsed."""

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.dataset import NumericColumn, RawTable
from leakgauge.domains.models.data.preprocessing import DuplicatePolicy


class PublishedDataTable(Protocol):
    """The class ``DataTable`` of a file in ``published/``: the keys of the `data` table, and how files are read.

    Files are read as they were published.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def duplicates(self) -> DuplicatePolicy: ...

    @property
    def name(self) -> str:
        """What reports call the data."""
        ...

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The files it needs, below a folder; one that is not there is refused."""
        ...

    def read(self, paths: Sequence[Path]) -> RawTable:
        """What those files hold."""
        ...


def find_file(folder: Path, *names: str, key: str = "folder") -> Path:
    """The first file that has one of some names, or such a name with .gz."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    wanted = " or ".join(map(repr, names))
    raise BadInput(
        f"data.{key}: there is no file {wanted} (nor with .gz) in {folder}; name the folder that holds the "
        "files as they were published"
    )


def read_lines(path: Path, n_fields: int) -> Iterator[list[str]]:
    """The values of each line of a text without header; empty lines and those that begin with | are none."""
    unpacked = gzip.open if path.name.endswith(".gz") else open
    try:
        with unpacked(path, "rt", encoding="utf-8", newline="") as file:
            for number, values in enumerate(csv.reader(file, skipinitialspace=True), start=1):
                if not values or values[0].startswith("|"):
                    continue
                if len(values) != n_fields:
                    raise BadInput(
                        f"data: line {number} of {path.name} has {len(values)} values, not {n_fields}; is "
                        "it the file as it was published?"
                    )
                yield [value.strip() for value in values]
    except (OSError, UnicodeError, EOFError, csv.Error) as error:
        raise BadInput(f"data: {path.name} cannot be read: {error}; is the file whole?") from None


def columns_by_position(rows: Iterable[Sequence[str]], places: Sequence[int]) -> dict[int, list[str]]:
    """The values of some places of each line, by place."""
    found: dict[int, list[str]] = {place: [] for place in places}
    for row in rows:
        for place, values in found.items():
            values.append(row[place])
    return found


def parse_numbers(texts: Sequence[str], name: str, path: Path) -> NumericColumn:
    """The numbers of a column; '?' is none."""
    try:
        return np.array(["nan" if text == "?" else text for text in texts], dtype=np.float64)
    except ValueError as error:
        raise BadInput(f"data: {name!r} of {path.name} must hold numbers ({error})") from None


def parse_texts(texts: Iterable[str]) -> Iterator[str | None]:
    """The texts of a column; '?' is none."""
    return (None if text == "?" else text for text in texts)
