from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.sparse_vector import Mechanism
from leakgauge.theory import tradeoff


def outputs_of(mechanism: Mechanism, n: int) -> np.ndarray:
    """All rows that can come out: cut every pattern of n answers after the last one allowed above."""
    rows = set()
    for pattern in product([0.0, 1.0], repeat=n):
        row, above = [], 0
        for answer in pattern:
            row.append(-1.0 if above == mechanism.limit else answer)
            above += row[-1] == 1
        rows.add(tuple(row))
    return np.array(sorted(rows))


def law_of(mechanism: Mechanism, outputs: np.ndarray, values: np.ndarray) -> np.ndarray:
    return mechanism.log_law(outputs, np.tile(values, (len(outputs), 1)))


CASES = [
    (Mechanism(epsilon=1.0), [0.0, 1.0]),
    (Mechanism(epsilon=3.0, threshold=2.0), [3.0, -1.0, 2.0]),
    (Mechanism(epsilon=2.0, limit=2, sensitivity=0.5), [0.3, 0.0, 1.0, -5.0]),
    (Mechanism(threshold_scale=0.2, query_scale=3.0, limit=3), [0.0, 1.0, 2.0]),
    (Mechanism(threshold_scale=9.0, query_scale=0.1, limit=1, monotone=True), [30.0, 1.0, -20.0]),
]


@pytest.mark.parametrize(("mechanism", "values"), CASES)
def test_distribution_matches_quadrature_and_sums_to_one(mechanism, values):
    values, (outer, inner) = np.array(values), mechanism.scales
    outputs = outputs_of(mechanism, values.size)
    ours = np.exp(law_of(mechanism, outputs, values))
    assert ours.sum() == pytest.approx(1, abs=1e-11)
    kinks = np.append(values - mechanism.threshold, 0.0)
    ends = np.unique(np.add.outer(kinks, [-400, -40, -4, -0.5, 0, 0.5, 4, 40, 400]))
    for output, our in zip(outputs, ours):

        def density(move, output=output):
            above = laplace.sf(mechanism.threshold + move, values, inner)
            return (
                laplace.pdf(move, 0, outer)
                * np.where(output == 1, above, np.where(output == 0, 1 - above, 1)).prod()
            )

        exact = sum(quad(density, a, b, limit=200, epsabs=1e-14)[0] for a, b in pairwise(ends))
        assert our == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("mechanism", "values"), CASES)
def test_samples_match_distribution(mechanism, values):
    n, values = 60_000, np.array(values)
    drawn = mechanism.sample(np.tile(values, (n, 1)), np.random.default_rng(1))
    outputs = outputs_of(mechanism, values.size)
    shares = (drawn[:, None, :] == outputs).all(axis=2).mean(axis=0)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares, np.exp(law_of(mechanism, outputs, values)), atol=9e-3)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("limit", [1, 2])
def test_guarantee_is_largest_log_ratio(limit, monotone):
    """Queries far above the threshold that come out below, and far below that come out above."""
    mechanism = Mechanism(epsilon=1.0, limit=limit, monotone=monotone)
    outputs = np.array([[0.0] * 6 + [1.0] * limit, [0.0] * (6 + limit)])
    moves = [np.array([1.0] * 6 + [0.0 if monotone else -1.0] * limit), np.ones(6 + limit)]
    largest = 0.0
    for far in (0.0, 5.0, 300.0):
        values = np.array([far] * 6 + [-far - 900.0] * limit)
        before = law_of(mechanism, outputs, values)
        for move in moves:
            largest = max(largest, np.abs(law_of(mechanism, outputs, values + move) - before).max())
    assert largest <= mechanism.guarantee.epsilon * (1 + 1e-9)
    assert largest == pytest.approx(mechanism.guarantee.epsilon, rel=0.01)


@pytest.mark.parametrize("monotone", [False, True])
def test_guarantee_holds_for_all_neighbours_on_a_grid(monotone):
    mechanism = Mechanism(epsilon=1.5, limit=2, monotone=monotone)
    outputs = outputs_of(mechanism, 3)
    for start in product([-2.0, 0.0, 3.0], repeat=3):
        before = law_of(mechanism, outputs, np.array(start))
        for move in product([0.0, 1.0] if monotone else [-1.0, 0.0, 1.0], repeat=3):
            after = law_of(mechanism, outputs, np.add(start, move))
            assert np.abs(after - before).max() <= mechanism.guarantee.epsilon * (1 + 1e-9)


def test_epsilon_is_split_as_in_textbook():
    assert Mechanism(epsilon=1.0).scales == (2.0, 4.0)
    assert Mechanism(epsilon=1.0, limit=3, monotone=True).scales == (2.0, 6.0)


def test_scales_not_matching_epsilon_are_reported():
    guarantee = Mechanism(epsilon=1.0, threshold_scale=1.0, query_scale=1.0, limit=4).guarantee
    assert (guarantee.epsilon, guarantee.nominal_epsilon) == (9.0, 1.0)


def test_curve_matches_distribution_and_is_absent_for_many_outputs():
    mechanism, low, high = (
        Mechanism(epsilon=2.0, limit=2),
        np.array([0.0, 1.0, 0.5]),
        np.array([1.0, 0.0, 1.5]),
    )
    outputs = outputs_of(mechanism, 3)
    laws = [np.exp(law_of(mechanism, outputs, v)) for v in (low, high)]
    variation = np.abs(laws[0] - laws[1]).sum() / 2
    assert tradeoff.max_accuracy(mechanism.curve(low, high)) == pytest.approx((1 + variation) / 2, abs=1e-9)
    assert Mechanism(epsilon=1.0, limit=10).curve(np.zeros(30), np.ones(30)) is None
    assert mechanism.curve(np.zeros((2, 3)), np.ones((2, 3))) is None


def test_invalid_rows_are_impossible():
    rows = np.array([[1.0, 0.0], [0.0, -1.0], [-1.0, -1.0], [0.5, 0.0], [1.0, 1.0]])
    assert law_of(Mechanism(epsilon=1.0), rows, np.zeros(2)).tolist() == [-np.inf] * 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "add epsilon"),
        ({"threshold_scale": 1.0}, "go together"),
        ({"epsilon": 1.0, "limit": 0}, "limit"),
        ({"epsilon": 1.0, "limit": 1.5}, "limit"),
        ({"epsilon": 1.0, "threshold": np.nan}, "threshold"),
        ({"epsilon": 1.0, "sensitivity": np.inf}, "sensitivity"),
        ({"threshold_scale": 1.0, "query_scale": 0.0}, "query_scale"),
        ({"threshold_scale": np.nan, "query_scale": 1.0}, "threshold_scale"),
    ],
)
def test_rejects_invalid_parameters(parameters, message):
    with pytest.raises(BadInput, match=f"sparse_vector.*{message}"):
        Mechanism(**parameters)


def test_single_row_has_a_log_probability():
    mechanism = Mechanism(epsilon=1.0)
    row, value = np.array([0.0, 1.0, -1.0]), np.array([0.0, 0.0, 1.0])
    assert mechanism.log_law(row, value) == mechanism.log_law(row[None], value[None])[0]
