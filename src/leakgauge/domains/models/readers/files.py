"""The files of a published data set in the folder that a plan names, also packed, and their lines."""

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.table.sheet import Numbers


def found(folder: Path, *names: str, key: str = "folder") -> Path:
    """The first file that has one of some names, or such a name with .gz."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    said = " or ".join(map(repr, names))
    raise BadInput(
        f"data.{key}: there is no file {said} (nor with .gz) in {folder}; name the folder that holds the "
        "files as they were published"
    )


def lines(path: Path, n_fields: int) -> Iterator[list[str]]:
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


def columns(rows: Iterable[Sequence[str]], places: Sequence[int]) -> dict[int, list[str]]:
    """The values of some places of each line, by place."""
    found: dict[int, list[str]] = {place: [] for place in places}
    for row in rows:
        for place, values in found.items():
            values.append(row[place])
    return found


def numbers(texts: Sequence[str], name: str, path: Path) -> Numbers:
    """The numbers of a column; '?' is none."""
    try:
        return np.array(["nan" if text == "?" else text for text in texts], dtype=np.float64)
    except ValueError as error:
        raise BadInput(f"data: {name!r} of {path.name} must hold numbers ({error})") from None


def given(texts: Iterable[str]) -> Iterator[str | None]:
    """The texts of a column; '?' is none."""
    return (None if text == "?" else text for text in texts)
