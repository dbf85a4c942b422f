"""The rows of exposure.csv, which lists how exposed each person is, for the owner of the data alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.exposure import (
    EXPOSURE_METRICS,
    RECOGNISED_ACCURACY,
    AdversaryExposure,
    Exposure,
    SpentBudgets,
)
from leakgauge.support.csv_cells import csv_lines

_SPENT = ("epsilon", "delta", "epsilon_tight", "delta_tight")
_PROMISED = ("epsilon_nominal", "delta", "epsilon_kairouz", "epsilon_tight")
_BLOCK = 2**16  # rows that are made at once
RowIndices: TypeAlias = npt.NDArray[np.intp]


def exposure_csv(exposures: Sequence[tuple[str, Exposure]]) -> str:
    """The text of the file: a header, then for each audit its people, the most exposed first."""
    adversaries = list(
        dict.fromkeys(attacker.adversary for _, each in exposures for attacker in each.against)
    )
    numbers = max((each.metrics for _, each in exposures), key=len, default=EXPOSURE_METRICS)
    metrics = [f"{adversary}_{metric}" for adversary in adversaries for metric in numbers]
    drawn = _with_draws(exposures)
    if any(each.spent for _, each in exposures):
        header = ["audit", "record", "queries", *_SPENT, *metrics, *_log_columns(exposures)]
        header += _further(exposures)
    else:
        unit = "record" if all(each.unit == "record" for _, each in exposures) else "person"
        shares = [f"{adversary}_recognised_in" for adversary in drawn]
        parts = ["cells", *_PROMISED] if _have_cells(exposures) else []
        header = ["audit", unit, *parts, *metrics, *shares, *_further(exposures)]
    blocks = [csv_lines([header])]
    columns = _Columns(adversaries, numbers, drawn, _have_cells(exposures), _further(exposures))
    for name, each in exposures:
        order = each.order
        blocks.extend(
            csv_lines(_rows(name, each, order[first : first + _BLOCK], columns))
            for first in range(0, order.size, _BLOCK)
        )
    return "".join(blocks)


@dataclass(frozen=True)
class _Columns:
    """The columns of a file, which not every audit in it has."""

    adversaries: Sequence[str]
    metrics: Sequence[str]
    drawn: Sequence[str]
    cells: bool
    further: Sequence[str]


def _have_cells(exposures: Sequence[tuple[str, Exposure]]) -> bool:
    return any(each.cells is not None for _, each in exposures)


def _further(exposures: Sequence[tuple[str, Exposure]]) -> list[str]:
    """Columns that only some domains have."""
    return list(dict.fromkeys(name for _, each in exposures for name in each.columns))


def _with_draws(exposures: Sequence[tuple[str, Exposure]]) -> list[str]:
    """The attackers who have one of several random draws, of people or of releases."""
    return list(
        dict.fromkeys(
            attacker.adversary
            for _, each in exposures
            for attacker in each.against
            if attacker.split_accuracy is not None
        )
    )


def _shares_recognised(each: Exposure, adversary: str, rows: RowIndices) -> list[str]:
    """The share of the draws of an attacker's data with which each person is recognised."""
    for attacker in each.against:
        if attacker.adversary == adversary and attacker.split_accuracy is not None:
            return _formatted((attacker.split_accuracy[:, rows] >= RECOGNISED_ACCURACY).mean(axis=0), ".3f")
    return [""] * rows.size


def _rows(name: str, each: Exposure, rows: RowIndices, columns: _Columns) -> Iterator[tuple[object, ...]]:
    known = {attacker.adversary: attacker for attacker in each.against}
    empty = [""] * rows.size
    numbers = [
        _formatted(known[adversary].metric(metric)[rows], ".5f") if adversary in known else empty
        for adversary in columns.adversaries
        for metric in columns.metrics
    ]
    cells = empty if each.cells is None else each.cells[rows].tolist()
    before = [cells, *_guarantee_cells(each, rows)] if columns.cells else []
    after = [_shares_recognised(each, adversary, rows) for adversary in columns.drawn]
    if each.spent is not None:
        spent = (each.spent.epsilon, each.spent.delta, each.spent.tight)
        before = [cells, *(_formatted(values[rows], ".6g") for values in spent)]
        before.append([f"{each.spent.tight_delta:.6g}"] * rows.size)
        after = _log_cells(each.spent, each.against, rows)
    for column in columns.further:
        after.append(_formatted(each.columns[column][rows], ".5f") if column in each.columns else empty)
    return zip([name] * rows.size, each.names[rows].tolist(), *before, *numbers, *after, strict=True)


def _guarantee_cells(each: Exposure, rows: RowIndices) -> list[list[str]]:
    promised = each.promised
    if promised is None:
        return [[""] * rows.size for _ in _PROMISED]
    others = (promised.delta, promised.kairouz, promised.tight)
    return [[f"{promised.nominal:.6g}"] * rows.size, *(_formatted(values[rows], ".6g") for values in others)]


def _log_columns(exposures: Sequence[tuple[str, Exposure]]) -> list[str]:
    """Columns of a log only: the advantage of the strongest attacker, and the costliest queries."""
    strongest = exposures[0][1].against[0].adversary
    ranks = max(each.spent.top.shape[1] for _, each in exposures if each.spent)
    costs = [name for rank in range(1, ranks + 1) for name in (f"query_{rank}", f"query_{rank}_epsilon")]
    return [f"{strongest}_advantage", *costs]


def _log_cells(
    spent: SpentBudgets, against: Sequence[AdversaryExposure], rows: RowIndices
) -> list[list[str]]:
    columns = [_formatted(2 * against[0].accuracy[rows] - 1, ".5f")]
    for top, cost in zip(spent.top[rows].T, spent.top_epsilon[rows].T):
        columns.append(np.where(top >= 0, spent.queries[top], "").tolist())
        written = _formatted(cost, ".6g")
        columns.append([text if place >= 0 else "" for text, place in zip(written, top.tolist())])
    return columns


def _formatted(values: Reals, form: str) -> list[str]:
    return [format(value, form) for value in values.tolist()]
