"""Scores made by any other tool, read from a CSV file."""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require

COLUMNS = ("member", "score", "round", "target")
_BITS = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The columns of a file; ``rounds`` and ``targets`` as it names them, or nothing."""

    members: list[bool]
    scores: list[float]
    rounds: list[str] | None
    targets: list[str] | None


def read_scores(path: Path) -> Scores:
    """Read a file with a header line: member (0/1, true/false), score, and maybe round and target."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read(csv.reader(file, strict=True), str(path))
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: not a CSV file in UTF-8 ({error})") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the path") from None


def _read(lines: Any, where: str) -> Scores:
    header = [name.strip().lower() for name in next(lines, [])]
    if not header:
        raise BadInput(f"{where}: empty; it needs a header line with member and score")
    for name in header:
        if ";" in name or "\t" in name:
            raise BadInput(f"{where}: {name!r} is one column; separate columns by commas")
        require(name, list(COLUMNS), f"{where}: no column")
        if header.count(name) > 1:
            raise BadInput(f"{where}: two columns are called {name!r}; keep one")
    for name in COLUMNS[:2]:
        if name not in header:
            raise BadInput(f"{where}: column {name!r} is missing; there are {', '.join(header)}")
    columns: dict[str, list[Any]] = {name: [] for name in header}
    readers: dict[str, Callable[[str], Any]] = {
        "member": _bit,
        "score": _number,
        "round": _name,
        "target": _name,
    }
    for cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise BadInput(f"{where}, line {lines.line_num}: {len(cells)} values for {len(header)} columns")
        for name, cell in zip(header, cells):
            try:
                columns[name].append(readers[name](cell.strip()))
            except ValueError as error:
                raise BadInput(f"{where}, line {lines.line_num}: {name} {error}, got {cell!r}") from None
    if not columns["member"]:
        raise BadInput(f"{where}: no trial in it; it needs a line per trial below the header")
    return Scores(
        members=columns["member"],
        scores=columns["score"],
        rounds=columns.get("round"),
        targets=columns.get("target"),
    )


def _bit(cell: str) -> bool:
    if cell.lower() not in _BITS:
        raise ValueError("must be 0, 1, true or false")
    return _BITS[cell.lower()]


def _number(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise ValueError("must be a number") from None
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def _name(cell: str) -> str:
    if not cell:
        raise ValueError("must not be empty")
    return cell
