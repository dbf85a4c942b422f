import numpy as np
import pytest

from leakgauge.domains.blackbox.event_search.numeric_features import (
    Coordinate,
    DistanceFromCentre,
    FilledCount,
    FirstPosition,
    LastPosition,
    MeanValue,
    OrderGap,
    OrderStatistic,
    OutputVariance,
    PairSum,
    SymbolCount,
    VectorNorm,
)
from leakgauge.domains.blackbox.event_search.output_table import tabulate

ROWS = np.random.default_rng(1).normal(size=(50, 4))
ALL = (0, 1, 2, 3)


@pytest.fixture
def table():
    laid_out = tabulate(list(ROWS))
    return laid_out.columns([laid_out.paths.index((place,)) for place in ALL])


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (Coordinate(2), ROWS[:, 2]),
        (DistanceFromCentre(1, 0.5), np.abs(ROWS[:, 1] - 0.5)),
        (PairSum(0, 3, -1), ROWS[:, 0] - ROWS[:, 3]),
        (PairSum(0, 3, 1), ROWS[:, 0] + ROWS[:, 3]),
        (OrderStatistic(ALL, 1), np.sort(ROWS, axis=1)[:, 1]),
        (OrderStatistic(ALL, -1), ROWS.max(axis=1)),
        (OrderGap(ALL, -1, 0), np.ptp(ROWS, axis=1)),
        (MeanValue(ALL), ROWS.mean(axis=1)),
        (VectorNorm(ALL, (1.0,) * 4, 1), np.abs(ROWS - 1).sum(axis=1)),
        (VectorNorm(ALL, (0.0,) * 4, 2), (ROWS**2).sum(axis=1)),
        (OutputVariance(ALL), 4 * ROWS.var(axis=1)),
        (FilledCount(), np.full(50, 4)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numeric_feature_values(table, measure, expected):
    np.testing.assert_allclose(measure(table), expected, rtol=1e-11)


def test_symbol_counts_and_positions():
    table = tabulate([["T", "F", "T", None], ["F", "F", "F", "F"]])
    table = table.columns([table.paths.index((place,)) for place in range(4)])
    symbol = int(table.keys[0, 0])
    assert SymbolCount(symbol)(table).tolist() == [2, 0]
    np.testing.assert_array_equal(FirstPosition(symbol)(table), [0, np.nan])
    np.testing.assert_array_equal(LastPosition(symbol)(table), [2, np.nan])


def test_missing_and_infinite_values_are_ignored():
    table = tabulate([[1.0, float("inf"), 3.0], [2.0, None]])
    places = tuple(table.paths.index((place,)) for place in range(3))
    np.testing.assert_array_equal(MeanValue(places)(table), [2.0, 2.0])
    np.testing.assert_array_equal(OrderStatistic(places, -1)(table), [3.0, 2.0])
    np.testing.assert_array_equal(OrderStatistic(places, 1)(table), [3.0, np.nan])


def test_order_of_summation_does_not_matter():
    rng = np.random.default_rng(2)
    row = rng.normal(size=9)
    table = tabulate([row, row[::-1], np.roll(row, 4)])
    places = tuple(table.paths.index((place,)) for place in range(9))
    assert len(set(MeanValue(places)(table).tolist())) == 1
    assert len(set(VectorNorm(places, (0.0,) * 9, 2)(table).tolist())) == 1
