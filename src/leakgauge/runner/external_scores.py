"""Scores made by other tools, from arrays or a CSV file, checked and turned into trials."""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Trials
from leakgauge.support.table_reader import require_known

SCORE_COLUMNS = ("member", "score", "round", "target")
_TOO_LARGE, _MOST_DIGITS = 2**63, 19  # of the numbers of rounds and targets
_INEXACT = 2.0**53  # from here on floating-point numbers do not hold every whole number
_BITS = {"1": True, "true": True, "0": False, "false": False}


def trials_from_arrays(
    members: npt.ArrayLike,
    scores: npt.ArrayLike,
    rounds: npt.ArrayLike | None,
    targets: npt.ArrayLike | None,
    coins: Coins,
) -> Trials:
    """Make trials; without rounds each trial is a release of its own, without targets they are numbered."""
    bits, values = np.asarray(members), _score_array(scores)
    if bits.ndim != 1 or bits.shape != values.shape or not bits.size:
        raise BadInput(
            f"members of shape {bits.shape} and scores of shape {values.shape}; give two lists of equal "
            "length, one entry per trial"
        )
    if not np.isin(bits, (0, 1)).all():
        raise BadInput("a member is neither 0 nor 1; write True for a member, False for a non-member")
    bits = bits.astype(bool)
    if bits.all() or not bits.any():
        raise BadInput(
            f"all {bits.size} trials are {'members' if bits.all() else 'non-members'}; both are needed"
        )
    round_numbers = np.arange(bits.size) if rounds is None else _numbered(rounds, "rounds", bits.size)
    if targets is not None:
        target_numbers = _numbered(targets, "targets", bits.size)
    else:
        target_numbers = (
            np.zeros(bits.size, np.int64) if rounds is None else _number_within_rounds(round_numbers)
        )
    if np.unique(round_numbers * (target_numbers.max() + 1) + target_numbers).size < bits.size:
        raise BadInput("a target appears twice in one round; a trial is one target of one round")
    return Trials(round_numbers, target_numbers, bits, values, coins)


def _score_array(scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        given = np.asarray(scores)
        if given.dtype.kind == "c":
            raise TypeError("they are complex")
        values = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"the scores are not numbers ({error}); give one real number per trial") from None
    whole = given.dtype.kind in "iu" or (
        given.dtype.kind == "O" and any(type(one) is int for one in given.flat)
    )
    if whole and (np.abs(values) >= _INEXACT).any():
        raise BadInput(
            "a score is a whole number from 2^53 on, where neighbours are equal; subtract a constant"
        )
    return values


def _numbered(names: npt.ArrayLike, what: str, size: int) -> npt.NDArray[np.int64]:
    """Number the different names from 0 on, in their own order rather than that of the rows."""
    values = np.asarray(names)
    if values.shape != (size,):
        raise BadInput(f"{what} of shape {values.shape} for {size} trials; give one per trial")
    if values.dtype.kind == "U" and all(name.isdecimal() for name in values.tolist()):
        if largest := next(filter(_is_too_large, values.tolist()), None):
            raise BadInput(f"{what} must be below 2^63, got {largest}; number them from 0 on")
        values = values.astype(np.int64)
    if values.dtype.kind == "f" and not (np.abs(values) < _INEXACT).all():
        raise BadInput(
            f"{what} must be finite and, as floating-point numbers, below 2^53; number them from 0 on"
        )
    try:
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        raise BadInput(
            f"{what} are of different types, or missing; give one number or one name per trial"
        ) from None


def _number_within_rounds(rounds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number the trials of each round."""
    order = np.argsort(rounds, kind="stable")
    places = np.empty_like(rounds)
    starts = np.flatnonzero(np.r_[True, np.diff(rounds[order]) > 0])
    places[order] = np.arange(rounds.size) - np.repeat(starts, np.diff(np.r_[starts, rounds.size]))
    return places


@dataclass(frozen=True, kw_only=True)
class ScoreColumns:
    """The columns of a file; ``rounds`` and ``targets`` as texts, or nothing where it has none."""

    members: list[bool]
    scores: list[float]
    rounds: list[str] | None
    targets: list[str] | None


def read_scores(path: Path) -> ScoreColumns:
    """Read a file with a header line: member (0/1, true/false), score, and optionally round and target."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read_columns(csv.reader(file, strict=True), str(path))
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: not a CSV file in UTF-8 ({error})") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the path") from None


def _read_columns(lines: Any, where: str) -> ScoreColumns:
    header = [name.strip().lower() for name in next(lines, [])]
    if not header:
        raise BadInput(f"{where}: empty; it needs a header line with member and score")
    for name in header:
        if ";" in name or "\t" in name:
            raise BadInput(f"{where}: {name!r} is one column; separate columns by commas")
        require_known(name, list(SCORE_COLUMNS), f"{where}: no column")
        if header.count(name) > 1:
            raise BadInput(f"{where}: two columns are called {name!r}; keep one")
    if missing := [repr(name) for name in SCORE_COLUMNS[:2] if name not in header]:
        raise BadInput(
            f"{where}: column {' and '.join(missing)} {'are' if missing[1:] else 'is'} missing; there are "
            f"{', '.join(header)}"
        )
    columns: dict[str, list[Any]] = {name: [] for name in header}
    readers: dict[str, Callable[[str], Any]] = {
        "member": _parse_member,
        "score": _parse_score,
        "round": _parse_name,
        "target": _parse_name,
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
                raise BadInput(f"{where}, line {lines.line_num}: {name} {error}, got {cell[:60]!r}") from None
    if not columns["member"]:
        raise BadInput(f"{where}: has no trials; add one line per trial below the header")
    return ScoreColumns(
        members=columns["member"],
        scores=columns["score"],
        rounds=columns.get("round"),
        targets=columns.get("target"),
    )


def _parse_member(cell: str) -> bool:
    if cell.lower() not in _BITS:
        raise ValueError("must be 0, 1, true or false")
    return _BITS[cell.lower()]


def _parse_score(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise ValueError("must be a number") from None
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    if cell.lstrip("+-").isdecimal() and abs(value) >= _INEXACT:
        raise ValueError("must not be a whole number from 2^53 on, where neighbours are equal")
    return value


def _is_too_large(name: str) -> bool:
    return name.isdecimal() and (len(name.lstrip("0")) > _MOST_DIGITS or int(name) >= _TOO_LARGE)


def _parse_name(cell: str) -> str:
    if not cell:
        raise ValueError("must not be empty")
    if _is_too_large(cell):
        raise ValueError("must be a number below 2^63, or a name")
    return cell
