import numpy as np
import pytest

from leakgauge.domains.blackbox.event_search.discrete_features import (
    CombinedPair,
    DecimalPlaces,
    ExactValues,
    ExtremePosition,
    FloatGrid,
    KindPattern,
    LowestBit,
    PairOperation,
    RepeatedValues,
    Residue,
    SizeOrder,
    lowest_bit,
)
from leakgauge.domains.blackbox.event_search.output_table import tabulate


def vectors(*rows):
    table = tabulate([np.array(row, dtype=float) for row in rows])
    return table.columns([table.paths.index((place,)) for place in range(len(rows[0]))])


def test_lowest_bit_matches_exact_arithmetic():
    rng = np.random.default_rng(1)
    numbers = np.concatenate(
        [rng.normal(size=200) * 2.0 ** rng.integers(-60, 60, 200), [5e-324, 1e308, -3.0]]
    )
    for number, found in zip(numbers.tolist(), lowest_bit(numbers).tolist()):
        numerator, denominator = abs(number).as_integer_ratio()
        trailing = (numerator & -numerator).bit_length() - 1
        assert found == trailing - (denominator.bit_length() - 1)


def test_zero_and_non_numbers_have_no_lowest_bit():
    assert set(lowest_bit(np.array([0.0, -0.0, np.nan, np.inf])).tolist()).isdisjoint(range(-1074, 1024))


def test_naive_float_noise_leaves_distinguishing_bits():
    # Measured elsewhere: an event of probability .27 against exactly 0.
    rng = np.random.default_rng(2)
    noise = rng.laplace(size=20_000)
    assert (lowest_bit(noise) < -53).mean() == pytest.approx(0.27, abs=0.07)
    assert not (lowest_bit(1 + noise) < -53).any()


def test_exact_columns_separate_rows_like_tuples():
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 4, size=(500, 3))
    table = vectors(*rows)
    symbols = ExactValues((0, 2))(table).tolist()
    pairs = [(row[0], row[2]) for row in rows.tolist()]
    assert len(set(zip(symbols, pairs))) == len(set(pairs)) == len(set(symbols))
    assert (ExactValues((0, 1))(table) != ExactValues((1, 0))(table)).any()


def test_pattern_depends_on_types_only():
    table = tabulate([[1, None], [2, None], [1.5, None], [1, "a"]])
    symbols = KindPattern()(table).tolist()
    assert symbols[0] == symbols[1]
    assert len(set(symbols)) == 3


@pytest.mark.parametrize(
    ("mark", "rows", "groups"),
    [
        (Residue(0, 1.0), [[3.25], [-0.75], [4.0], [7.0 - 1e-12]], [0, 0, 1, 1]),
        (Residue(0, 2.0), [[4], [-2], [5], [-1]], [0, 0, 1, 1]),
        (DecimalPlaces(0), [[1.5], [0.3], [2.0], [1.25]], [0, 0, 1, 2]),
        (CombinedPair(0, 1, PairOperation.DIFFERENCE, 1e-9), [[0.3, 0.1], [0.5, 0.3], [0.5, 0.4]], [0, 0, 1]),
        (CombinedPair(0, 1, PairOperation.SUM, 1e-9), [[0.1, 0.2], [0.2, 0.1], [0.1, 0.1]], [0, 0, 1]),
        (CombinedPair(0, 1, PairOperation.RATIO, 1e-9), [[0.1, 0.3], [0.2, 0.6], [0.2, 0.3]], [0, 0, 1]),
        (SizeOrder((0, 1, 2)), [[1, 2, 3], [0, 5, 9], [3, 2, 1]], [0, 0, 1]),
        (ExtremePosition((0, 1), 1), [[1, 2], [0, 1], [2, 1]], [0, 0, 1]),
        (ExtremePosition((0, 1), -1), [[1, 2], [0, 1], [2, 1]], [0, 0, 1]),
        (RepeatedValues((0, 1, 2)), [[1, 2, 1], [3, 3, 0], [1, 2, 3]], [0, 0, 1]),
        (LowestBit(0), [[0.5], [1.5], [2.0]], [0, 0, 1]),
        (FloatGrid(0), [[1.5], [1.25 + 0.25], [-1.5], [3.5]], [0, 0, 1, 2]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_feature_groups_equivalent_rows(mark, rows, groups):
    symbols = mark(vectors(*rows)).tolist()
    assert len(set(zip(symbols, groups))) == len(set(groups)) == len(set(symbols))
