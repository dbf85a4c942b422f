"""What every reader of a published data set provides, and how its files are found and parsed."""

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data import dataset, preprocessing
from leakgauge.support.required_columns import missing_columns_text


class PublishedDataTable(Protocol):
    """The class ``DataTable`` of a file in ``published/``: its keys in the `data` table of a plan.

    Files are read as they were published.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def duplicates(self) -> preprocessing.DuplicatePolicy: ...

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        ...

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The files it needs, below a folder; a missing file is refused."""
        ...

    def read(self, paths: Sequence[Path]) -> dataset.RawTable:
        """The table that the files hold."""
        ...


def find_file(folder: Path, *names: str, key: str = "folder") -> Path:
    """The first file that exists among some names, with or without .gz."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    wanted = " or ".join(map(repr, names))
    raise BadInput(
        f"data.{key}: there is no file {wanted} (nor with .gz) in {folder}; name the folder that holds the "
        "files as they were published"
    )


def require_published_columns(names: Sequence[str], known: Sequence[str], file: str) -> None:
    """Refuse a file that lacks columns that it was published with."""
    if missing := [name for name in names if name not in known]:
        text = missing_columns_text(missing, known, file)
        raise BadInput(f"data.folder: {text}; name the folder that holds the file as it was published")


def read_lines(path: Path, n_fields: int) -> Iterator[list[str]]:
    """The values of each line of a CSV file without header; empty lines and comments (|) are skipped."""
    unpacked = gzip.open if path.name.endswith(".gz") else open
    try:
        with unpacked(path, "rt", encoding="utf-8", newline="") as file:
            for number, values in enumerate(csv.reader(file, skipinitialspace=True), start=1):
                if not values or values[0].startswith("|"):
                    continue
                if len(values) != n_fields:
                    raise BadInput(
                        f"data: line {number} of {path.name} has {len(values)} values, not {n_fields}; use "
                        "the file as it was published"
                    )
                yield [value.strip() for value in values]
    except (OSError, UnicodeError, EOFError, csv.Error) as error:
        raise BadInput(f"data: {path.name} cannot be read: {error}; check that it is complete") from None


def columns_by_position(rows: Iterable[Sequence[str]], places: Sequence[int]) -> dict[int, list[str]]:
    """The values at some positions of each line, by position."""
    columns: dict[int, list[str]] = {place: [] for place in places}
    for row in rows:
        for place, values in columns.items():
            values.append(row[place])
    return columns


def parse_numbers(texts: Sequence[str], name: str, path: Path) -> dataset.NumericColumn:
    """The numbers of a column; '?' is a missing value."""
    try:
        return np.array(["nan" if text == "?" else text for text in texts], dtype=np.float64)
    except ValueError:
        raise BadInput(
            f"data: {name!r} of {path.name} must hold numbers or '?'; use the file as it was published"
        ) from None


def parse_texts(texts: Iterable[str]) -> Iterator[str | None]:
    """The texts of a column; '?' is a missing value."""
    return (None if text == "?" else text for text in texts)
