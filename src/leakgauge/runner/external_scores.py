"""Scores made by other tools, from arrays or a CSV file, checked and turned into trials."""

import csv
import math
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Trials
from leakgauge.support.member_words import ACCEPTED_WORDS, is_member
from leakgauge.support.table_reader import require_known
from leakgauge.support.tabular import refuse_title
from leakgauge.support.text_encoding import refuse_other_encoding

SCORE_COLUMNS = ("member", "score", "round", "target")
_OTHER_NAMES = {"is_member": "member", "is_train": "member", "train": "member", "in": "member"}
_TOO_LARGE, _MOST_DIGITS = 2**63, 19  # of the numbers of rounds and targets
_INEXACT = 2.0**53  # from here on floating-point numbers do not hold every whole number
_OTHER_DELIMITERS = ";\t|"
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")  # or one decimal comma: both are possible


def trials_from_arrays(
    members: npt.ArrayLike,
    scores: npt.ArrayLike,
    rounds: npt.ArrayLike | None,
    targets: npt.ArrayLike | None,
    coins: Coins,
) -> Trials:
    """Make trials; without rounds each trial is a release of its own, without targets they are numbered."""
    bits, values = _array(members, "members"), _score_array(scores)
    if bits.ndim != 1 or bits.shape != values.shape or not bits.size:
        raise BadInput(
            f"members of shape {bits.shape} and scores of shape {values.shape}; give two lists of equal "
            "length, one entry per trial"
        )
    if (wrong := np.flatnonzero(~np.isin(bits, (0, 1)))).size:
        raise BadInput(
            f"members[{wrong[0]}] is neither 0 nor 1; write True for a member, False for a non-member"
        )
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


def _array(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{what} are no list: entries differ in length; give one entry per trial") from None


def _score_array(scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
    given = _array(scores, "scores")
    if given.dtype.kind == "c":
        raise BadInput("scores are complex; give one real number per trial")
    if given.dtype.kind not in "biufSUO":
        raise BadInput(f"scores are {given.dtype}, not numbers; give one real number per trial")
    try:
        values = given.astype(np.float64)
    except (TypeError, ValueError):
        raise BadInput("scores are not all numbers; give one real number per trial") from None
    except OverflowError:
        raise BadInput("a score is too large for a floating-point number; divide by a constant") from None
    if values.ndim == 1 and (wrong := np.flatnonzero(~np.isfinite(values))).size:
        raise BadInput(f"scores[{wrong[0]}] is not a finite number; give one real number per trial")
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
    values = _array(names, what)
    if values.shape != (size,):
        raise BadInput(f"{what} of shape {values.shape} for {size} trials; give one per trial")
    if values.dtype.kind == "U" and all(name.isdecimal() for name in values.tolist()):
        if any(map(_is_too_large, values.tolist())):
            raise BadInput(f"{what} must be below 2^63; number them from 0 on")
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
    """Read a file with a header line: member (0/1, yes/no), score, and optionally round and target.

    Columns are divided by commas, or by semicolons, tabs or bars; then scores may have decimal commas. A
    column of another name is left out if it names the rows: every value is different, and none has decimals.
    Where values repeat, rows may depend on each other, and then intervals are only right if the column is
    called round or target. Numbers with decimals may be a better score than the one that is judged.
    """
    if path.is_file():
        refuse_other_encoding(path, "scores")
        refuse_title(path, str(path))
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header = file.readline()
            others = [mark for mark in _OTHER_DELIMITERS if mark in header and "," not in header]
            file.seek(0)
            delimiter = others[0] if others else ","
            return _read_columns(csv.reader(file, strict=True, delimiter=delimiter), str(path), delimiter)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; check the path") from None
    except csv.Error as error:
        raise BadInput(f"{path}: not a CSV file ({error}); close every quote, or save it again") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not in UTF-8 (byte {error.start}); save it as CSV in UTF-8") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the path") from None


def _read_columns(lines: Any, where: str, delimiter: str) -> ScoreColumns:
    """Check header and cells; no message repeats a cell, which may be about a person."""
    header = _read_header(next(lines, []), where)
    columns: dict[str, list[Any]] = {name: [] for name in header}
    decimal_mark = _DecimalMark()
    readers: dict[str, Callable[[str], Any]] = dict.fromkeys(header, str) | {
        "member": _parse_member,
        "score": _parse_score if delimiter == "," else decimal_mark.parse_score,
        "round": _parse_name,
        "target": _parse_name,
    }
    for cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise BadInput(
                f"{where}, line {lines.line_num}: {len(cells)} values for {len(header)} columns; write "
                f"{delimiter.join(header)}, and numbers with a decimal point"
            )
        for name, cell in zip(header, cells):
            try:
                columns[name].append(readers[name](cell.strip()))
            except ValueError as error:
                raise BadInput(f"{where}, line {lines.line_num}, column {name}: {error}") from None
    if not columns["member"]:
        raise BadInput(f"{where}: no trial below the header; write one line per trial, such as 1,0.73")
    for number, name in enumerate(header, 1):
        if name not in SCORE_COLUMNS and any(map(_has_decimals, columns[name])):
            raise BadInput(
                f"{where}, column {number} ({name!r}): holds numbers that may tell members too; judge each "
                "score by itself: remove the column, or call it score in a file of its own"
            )
        if name not in SCORE_COLUMNS and len(set(columns[name])) < len(columns[name]):
            raise BadInput(
                f"{where}, column {number} ({name!r}): values repeat, so rows may depend on each other; "
                "rename it to round if rows with the same value come from one release, or to target if they "
                "are about the same person or record; otherwise remove it"
            )
    if decimal_mark.unclear:
        raise BadInput(
            f"{where}, column score: commas may divide thousands or be decimal commas; write decimal points"
        )
    return ScoreColumns(
        members=columns["member"],
        scores=columns["score"],
        rounds=columns.get("round"),
        targets=columns.get("target"),
    )


def _has_decimals(cell: str) -> bool:
    """Whether a cell is a number with a decimal point or an exponent, such as a loss."""
    try:
        return not cell.lstrip("+-").isdecimal() and math.isfinite(float(cell))
    except ValueError:
        return False


def _read_header(cells: list[str], where: str) -> list[str]:
    """The names of the columns; a line that names none of them is data, and is not shown."""
    header = [name.strip().lower() for name in cells]
    header = [name if _OTHER_NAMES.get(name, name) in header else _OTHER_NAMES[name] for name in header]
    example = "write member,score and, where they are known, round,target"
    if not any(header):
        raise BadInput(f"{where}, line 1: empty; the first line names the columns: {example}")
    if not set(header) & set(SCORE_COLUMNS):
        if where.endswith(".toml"):
            raise BadInput(
                f"{where}: scores are read from a CSV file; to run a plan: leakgauge run {shlex.quote(where)}"
            )
        raise BadInput(f"{where}, line 1: names none of the columns; {example}")
    if missing := [name for name in SCORE_COLUMNS[:2] if name not in header]:
        listed = " and ".join(map(repr, missing))
        raise BadInput(
            f"{where}, line 1: column{'s' * (len(missing) > 1)} {listed} missing; {example}; it has "
            f"{', '.join(header)}"
        )
    for number, name in enumerate(header, 1):
        if not name:
            raise BadInput(f"{where}, line 1: column {number} has no name; {example}, and nothing else")
        if name not in SCORE_COLUMNS and get_close_matches(name, SCORE_COLUMNS, n=1):
            require_known(
                name, list(SCORE_COLUMNS), f"{where}, line 1: remove or rename column {number}: no column"
            )
        if header.count(name) > 1:
            raise BadInput(f"{where}, line 1: two columns are called {name!r}; remove one")
    return header


def _parse_member(cell: str) -> bool:
    said = is_member(cell)
    if said is None:
        raise ValueError(
            f"{'empty' if not cell else 'neither 0 nor 1'}; write 1 for a member, 0 for others (or "
            f"{ACCEPTED_WORDS})"
        )
    return said


def _parse_score(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise ValueError(f"{'empty' if not cell else 'not a number'}; write a number such as 0.73") from None
    if not math.isfinite(value):
        raise ValueError("not a finite number; write a number such as 0.73")
    if cell.lstrip("+-").isdecimal() and abs(value) >= _INEXACT:
        raise ValueError("a whole number from 2^53 on, where neighbours are equal; subtract a constant")
    return value


@dataclass
class _DecimalMark:
    """Reads scores with a decimal point or with a decimal comma, but not both in one file."""

    found: str = ""
    unclear: bool = False  # whether all commas so far may also divide thousands, as in 1,234

    def parse_score(self, cell: str) -> float:
        """Return the number in a cell."""
        marks = {mark for mark in ",." if mark in cell}
        if marks and (len(marks) > 1 or self.found not in ("", *marks)):
            raise ValueError("a decimal comma beside decimal points; write all numbers with a point")
        if not marks:
            return _parse_score(cell)
        self.unclear = _THOUSANDS.fullmatch(cell) is not None and (self.unclear or not self.found)
        self.found = marks.pop()
        return _parse_score(cell.replace(",", "."))


def _is_too_large(name: str) -> bool:
    return name.isdecimal() and (len(name.lstrip("0")) > _MOST_DIGITS or int(name) >= _TOO_LARGE)


def _parse_name(cell: str) -> str:
    if not cell:
        raise ValueError("empty; write a number or a name")
    if _is_too_large(cell):
        raise ValueError("not below 2^63; write a smaller number, or a name")
    return cell
