"""Every file under mechanisms/ obeys these rules; a new one is tested before its author writes a line.

A mechanism is built from epsilon = 1 (at delta = 1e-5, if it has a delta) and what ``PARAMETERS`` adds, and
fed the neighbouring values ``PAIR``.
"""

import pickle
from dataclasses import FrozenInstanceError, is_dataclass
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import chisquare, kstest

from leakgauge import mechanisms
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.core.randomness import Role, stream
from leakgauge.mechanisms import name_of
from leakgauge.support.table_reader import read_dataclass
from leakgauge.theory import tradeoff

ELSEWHERE = {"opendp"}  # draws by its own randomness and needs a file: tests of its own
NAMES = sorted(
    module.name
    for module in iter_modules(mechanisms.__path__)
    if not module.name.startswith("_") and module.name not in ELSEWHERE
)
BITS = {"features": 2, "bits": [1, 1], "calibrate": "exact"}  # few outputs, and an epsilon that is true
PARAMETERS = {
    "feature_laplace": {"features": 2, "bound": 1.0},
    "bitrand": BITS,
    "ome": BITS,
    "bit_response": BITS,
    "unary_encoding": {"categories": 2},
    "rappor": {"categories": 2, "p": 0.0, "q": 1.0},  # else one report reveals less than epsilon
    "local_hashing": {"categories": 2, "buckets": 2, "prime": 3},  # few outputs
    "duchi": {"features": 2},
    "piecewise": {"features": 2},
    "privunit": {"features": 2},
}
PAIR = np.array([0.0, 0.0]), np.array([1.0, 0.0])
PAIRS = {"privunit": (np.array([1.0, 0.0]), np.array([0.0, 1.0]))}  # zeros have no direction
ON_SPHERE = {"privunit"}  # no density on the line: tests of its own
N = 20_000


def build(name: str, **parameters):
    kind = mechanisms.mechanism_class(name)
    delta = {"delta": 1e-5} if "delta" in kind.__dataclass_fields__ else {}
    return read_dataclass(
        kind, {"epsilon": 1.0, **delta, **PARAMETERS.get(name, {}), **parameters}, f"mechanism {name!r}"
    )


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def mechanism(name):
    return build(name)


@pytest.fixture
def pair(name):
    return PAIRS.get(name, PAIR)


def draw(mechanism, values: np.ndarray, block: int = 0, n: int = N) -> np.ndarray:
    """One release per round of the same values."""
    rounds = np.tile(values, (n, 1))
    rounds.setflags(write=False)
    return mechanism.sample(rounds, stream(20240501, Role.RELEASE, block))


def joint_log_law(mechanism, outputs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Log law of each round's whole output, whether or not the mechanism treats values one by one."""
    return (
        mechanism.log_law(outputs, np.tile(values, (len(outputs), 1))).reshape(len(outputs), -1).sum(axis=1)
    )


def known_curve(mechanism, low: np.ndarray, high: np.ndarray):
    curve = mechanism.curve(low, high)
    if curve is None:
        pytest.skip("the trade-off between two values of this mechanism is not known")
    return curve


def losses(mechanism, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Privacy losses of non-members and members."""
    outputs = draw(mechanism, low, 0), draw(mechanism, high, 1)
    return tuple(joint_log_law(mechanism, y, high) - joint_log_law(mechanism, y, low) for y in outputs)


def test_all_mechanisms_are_found():
    noise, choices = {"laplace", "gaussian", "geometric", "randomized_response"}, {"exponential", "noisy_max"}
    for known in noise | choices | {"sparse_vector"}:
        assert known in NAMES
        assert build(known).curve(*PAIR) is not None


def test_mechanism_is_frozen_and_has_docstring(mechanism):
    assert is_dataclass(mechanism)
    assert len(type(mechanism).__doc__.splitlines()[0]) > 20
    assert import_module(type(mechanism).__module__).__doc__
    with pytest.raises(FrozenInstanceError):
        mechanism.epsilon = 2.0
    with pytest.raises(TypeError):
        type(mechanism)(1.0)


def test_can_be_pickled(mechanism):
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert pickle.loads(pickle.dumps(mechanism.guarantee)).epsilon == mechanism.guarantee.epsilon


def test_sampling_is_reproducible(mechanism, pair):
    np.testing.assert_array_equal(draw(mechanism, pair[1], 3), draw(mechanism, pair[1], 3))
    assert (draw(mechanism, pair[1], 3) != draw(mechanism, pair[1], 4)).any()


def test_one_output_and_one_log_probability_per_round(mechanism, pair):
    outputs = draw(mechanism, pair[1])
    law = mechanism.log_law(outputs, np.tile(pair[1], (N, 1)))
    assert outputs.dtype == law.dtype == np.float64
    assert len(outputs) == len(law) == N
    assert np.isfinite(outputs).all()
    assert np.isfinite(law).all()


def test_distribution_sums_to_one_and_matches_samples(mechanism, pair):
    outputs = draw(mechanism, pair[1]).reshape(N, -1)
    different, counts = np.unique(outputs, axis=0, return_counts=True)
    if len(different) > N // 2:
        return _check_density(mechanism, pair)
    shape = (len(different), *draw(mechanism, pair[1]).shape[1:])
    law = np.exp(joint_log_law(mechanism, different.reshape(shape), pair[1]))
    assert 0.98 < law.sum() < 1 + 1e-9
    common = law * N >= 5
    expected = np.append(law[common], 1 - law[common].sum()) * N
    observed = np.append(counts[common], N - counts[common].sum())
    seen = expected > 1e-6
    assert chisquare(observed[seen], expected[seen] * (N / expected[seen].sum())).pvalue > 1e-3
    return None


def _check_density(mechanism, pair) -> None:
    if name_of(mechanism) in ON_SPHERE:
        pytest.skip("its density is not one of numbers")
    outputs = draw(mechanism, pair[1][:1], n=20 * N).ravel()  # tells a scale that is off by 2 %
    reach = 3 * np.ptp(outputs)
    grid = np.linspace(outputs.min() - reach, outputs.max() + reach, 400_001)
    density = np.exp(mechanism.log_law(grid[:, None], np.full((grid.size, 1), pair[1][0]))).ravel()
    assert trapezoid(density, grid) == pytest.approx(1, abs=1e-5)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    assert kstest(outputs, lambda x: np.interp(x, grid, below)).pvalue > 1e-3


def test_guarantee_is_complete(mechanism):
    guarantee = mechanism.guarantee
    assert guarantee.relation in Relation
    assert guarantee.unit in Unit
    assert guarantee.sensitivity > 0
    assert guarantee.nominal_epsilon == 1
    assert guarantee.exact_epsilon == guarantee.epsilon == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("swap", [False, True])
def test_guarantee_holds_for_the_distribution(mechanism, swap, pair):
    low, high = pair[::-1] if swap else pair
    guarantee = mechanism.guarantee
    absent, present = losses(mechanism, low, high)
    if guarantee.delta == 0:
        assert max(np.abs(absent).max(), np.abs(present).max()) <= guarantee.epsilon * (1 + 1e-9)
    lost = np.maximum(0, 1 - np.exp(guarantee.epsilon - present))
    assert lost.mean() <= guarantee.delta + 5 * lost.std() / np.sqrt(N) + 1e-9


@pytest.mark.parametrize("swap", [False, True])
def test_curve_between_two_values_matches_distribution(mechanism, swap, pair):
    low, high = pair[::-1] if swap else pair
    curve, guarantee = known_curve(mechanism, low, high), mechanism.guarantee
    assert tradeoff.delta_at(curve, guarantee.epsilon) <= guarantee.delta * (1 + 1e-6) + 1e-9
    absent, present = (loss.round(9) for loss in losses(mechanism, low, high))
    for cut in (-0.3, 0.0, 0.3):
        fpr, tpr = np.mean(absent > cut), np.mean(present > cut)
        slack = 5 * (np.sqrt(tpr * (1 - tpr) / N) + np.exp(max(cut, 0)) * np.sqrt(fpr * (1 - fpr) / N)) + 1e-3
        assert abs(tradeoff.max_tpr(fpr, curve) - tpr) <= slack


def test_guarantee_curve_covers_neighbours(mechanism, pair):
    fpr = np.linspace(0, 1, 101)
    allowed = tradeoff.max_tpr(fpr, mechanism.guarantee)
    for low, high in (pair, pair[::-1]):
        assert (tradeoff.max_tpr(fpr, known_curve(mechanism, low, high)) <= allowed + 1e-9).all()


def test_equal_values_have_no_privacy_loss(mechanism, pair):
    curve = known_curve(mechanism, pair[1], pair[1])
    np.testing.assert_allclose(curve.fpr, curve.tpr, atol=1e-12)


@pytest.mark.parametrize("epsilon", [np.nan, 0.0, -1.0, np.inf])
def test_rejects_invalid_epsilon(name, epsilon):
    with pytest.raises(BadInput, match=f"{name}.*epsilon"):
        build(name, epsilon=epsilon)


@pytest.mark.parametrize("epsilon", [1e-3, 20.0, 2000.0])
def test_extreme_epsilons_raise_no_warning(name, epsilon, pair):
    mechanism = build(name, epsilon=epsilon)
    assert mechanism.guarantee.epsilon == pytest.approx(epsilon, rel=1e-6)
    outputs = draw(mechanism, pair[1])[:50]
    assert not np.isnan(mechanism.log_law(outputs, np.tile(pair[1], (50, 1)))).any()
    assert 0.5 <= tradeoff.max_accuracy(known_curve(mechanism, *pair)) <= 1


def test_relation_and_unit_come_from_plan(name):
    mechanism = build(name, relation="replace_one", unit="user")
    assert (mechanism.guarantee.relation, mechanism.guarantee.unit) == (Relation.REPLACE_ONE, Unit.USER)
