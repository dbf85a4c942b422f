"""Laws of bits against the enumeration of all inputs and outputs, by the published formulas."""

from itertools import product
from math import exp, log, prod, sqrt

import numpy as np
import pytest
from scipy.stats import chisquare

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import bit_response, bitrand, ome
from leakgauge.mechanisms._bit_mechanism import BitCalibration, BitMechanism, bit_patterns
from leakgauge.theory import tradeoff


def by_hand(log_odds) -> list[float]:
    ones = [1 / (1 + exp(-odds)) for odds in log_odds]
    every = product((0, 1), repeat=len(ones))
    return [prod(p if bit else 1 - p for p, bit in zip(ones, bits)) for bits in every]


@pytest.mark.parametrize(
    "log_odds", [(0.0,), (-2.0, 3.0), (-4.6, 4.6, -13.8, 0.1, 0.7), (0.0,) * 6, (-40.0,) * 3]
)
def test_sampling_table_matches_independent_bits(log_odds):
    np.testing.assert_allclose(bit_patterns(log_odds).probabilities, by_hand(log_odds), atol=1e-15)


def test_ten_and_sixteen_bits_are_sampled_correctly():
    for n_bits in (10, 16):
        log_odds = tuple(np.linspace(-8, 0.6, n_bits).tolist())
        np.testing.assert_allclose(bit_patterns(log_odds).probabilities, by_hand(log_odds), atol=1e-15)


def test_samples_match_distribution():
    log_odds = (-2.0, 0.5, -0.3, 1.0)
    draws = bit_patterns(log_odds).draw((400, 500), np.random.default_rng(1))
    counts = np.bincount(draws.ravel(), minlength=16)
    assert chisquare(counts, np.array(by_hand(log_odds)) * draws.size).pvalue > 1e-3


def test_bits_with_certain_outcome_never_change():
    draws = bit_patterns((-800.0, 800.0, -800.0)).draw((10_000,), np.random.default_rng(1))
    assert set(draws.tolist()) == {0b010}


FEATURES, BITS = 2, 3  # sign, one bit before the point, one after
SMALL = {"features": FEATURES, "bits": (1, 1)}
INPUTS = {-1.5: "111", -1.0: "110", -0.5: "101", 0.0: "000", 0.5: "001", 1.0: "010", 1.5: "011"}
READ = {bits: value for value, bits in INPUTS.items()} | {"100": 0.0}


def bitrand_ones(epsilon: float, alpha: float | None = None):
    """Eq. 23 of Nguyen et al. (2023), with alpha at its bound."""
    total = sum(exp(2 * epsilon * k / BITS) for k in range(BITS))
    alpha = alpha or sqrt((epsilon + FEATURES * BITS) / (2 * FEATURES * total))

    def ones(i: int, bit: int) -> float:
        y = alpha * exp(i % BITS / BITS * epsilon)
        return 1 / (1 + y) if bit else y / (1 + y)

    return ones


def ome_ones(epsilon: float, alpha: float, *, whole_row: bool):
    """Eq. 22 of Nguyen et al. (2023); the parity is that of the bit in its feature, or in the whole row."""

    def ones(i: int, bit: int) -> float:
        if not bit:
            return 1 / (1 + alpha * exp(epsilon / (FEATURES * BITS)))
        even = (i if whole_row else i % BITS) % 2 == 0
        return alpha / (1 + alpha) if even else 1 / (1 + alpha**3)

    return ones


def warner_ones(share: float):
    return lambda _, bit: 1 / (1 + exp(-share)) if bit else 1 / (1 + exp(share))


LYU = {"variant": ome.OmeVariant.LYU}
CASES = {
    "bitrand": (bitrand.Mechanism(epsilon=1.0, **SMALL), bitrand_ones(1.0)),
    "bitrand, odd bits": (bitrand.Mechanism(epsilon=6.0, **SMALL), bitrand_ones(6.0)),
    "bitrand, alpha": (bitrand.Mechanism(epsilon=2.0, alpha=0.3, **SMALL), bitrand_ones(2.0, 0.3)),
    "bitrand, exact": (
        bitrand.Mechanism(epsilon=3.0, calibrate=BitCalibration.EXACT, **SMALL),
        bitrand_ones(0.75, exp(-0.75)),  # 2 features x .75 x (1 + 2/3 + 1/3) = 3
    ),
    "ome": (ome.Mechanism(epsilon=1.0, **SMALL), ome_ones(1.0, 100, whole_row=False)),
    "ome, mild": (ome.Mechanism(epsilon=2.0, alpha=1.5, **SMALL), ome_ones(2.0, 1.5, whole_row=False)),
    "ome, Lyu": (ome.Mechanism(epsilon=2.0, **LYU, **SMALL), ome_ones(2.0, 100, whole_row=True)),
    "ome, Lyu, mild": (
        ome.Mechanism(epsilon=2.0, alpha=1.5, **LYU, **SMALL),
        ome_ones(2.0, 1.5, whole_row=True),
    ),
    "ome, exact": (
        ome.Mechanism(epsilon=3.0, calibrate=BitCalibration.EXACT, **SMALL),
        ome_ones(6 * log(2 * exp(0.5) - 1), 1.0, whole_row=False),  # 6 bits x ln((1 + e^x) / 2) = 3
    ),
    "bit_response": (bit_response.Mechanism(epsilon=3.0, **SMALL), warner_ones(0.5)),
    "bit_response, each": (
        bit_response.Mechanism(epsilon=0.4, calibrate=BitCalibration.NOMINAL, **SMALL),
        warner_ones(0.4),
    ),
}


@pytest.fixture(params=CASES)
def case(request) -> tuple[BitMechanism, dict]:
    mechanism, ones = CASES[request.param]
    return mechanism, laws(ones)


def laws(ones, *, read: bool = True) -> dict[tuple[float, ...], dict[tuple[float | str, ...], float]]:
    """For every row, the probability of everything that may be answered, as bits or as numbers read."""
    every = {}
    for row in product(INPUTS, repeat=FEATURES):
        true, law = "".join(INPUTS[value] for value in row), {}
        for told in product("01", repeat=FEATURES * BITS):
            chance = prod(
                ones(i, int(bit)) if answer == "1" else 1 - ones(i, int(bit))
                for i, (bit, answer) in enumerate(zip(true, told))
            )
            parts = ["".join(told[f * BITS : (f + 1) * BITS]) for f in range(FEATURES)]
            answers = tuple(READ[part] if read else part for part in parts)
            law[answers] = law.get(answers, 0.0) + chance
        every[row] = law
    return every


def test_distribution_matches_enumeration(case):
    mechanism, every = case
    for row, law in every.items():
        outputs = np.array(list(law))
        joint = mechanism.log_law(outputs, np.tile(row, (len(outputs), 1))).sum(axis=1)
        np.testing.assert_allclose(np.exp(joint), list(law.values()), rtol=1e-9)
        assert np.exp(joint).sum() == pytest.approx(1, abs=1e-12)


def test_exact_epsilon_is_largest_log_ratio(case):
    mechanism, every = case
    table = np.log([list(law.values()) for law in every.values()])
    exact = (table.max(axis=0) - table.min(axis=0)).max()
    assert mechanism.exact_epsilon() == pytest.approx(exact, rel=1e-9)
    assert mechanism.guarantee.exact_epsilon == mechanism.exact_epsilon()


def test_non_negative_rows_have_their_own_largest_log_ratio(case):
    mechanism, every = case
    table = np.log([list(law.values()) for row, law in every.items() if min(row) >= 0])
    exact = (table.max(axis=0) - table.min(axis=0)).max()
    assert mechanism.exact_epsilon(signed=False) == pytest.approx(exact, rel=1e-9)


def test_exact_calibration_reaches_epsilon(case):
    mechanism, _ = case
    if mechanism.calibrate is BitCalibration.EXACT:
        assert mechanism.guarantee.epsilon == pytest.approx(mechanism.epsilon, rel=1e-12)
    else:
        assert mechanism.guarantee.epsilon == mechanism.guarantee.nominal_epsilon == mechanism.epsilon
        assert mechanism.guarantee.curve is None


def test_tables_hold_feature_distributions(case):
    mechanism, every = case
    levels = sorted(INPUTS)
    for feature in range(FEATURES):
        marginal = np.zeros((len(levels), len(levels)))
        for value in levels:
            for told, chance in every[(value,) * FEATURES].items():
                marginal[levels.index(value), levels.index(told[feature])] += chance
        np.testing.assert_allclose(np.exp(mechanism.table(feature)), marginal, rtol=1e-9)


@pytest.mark.parametrize("row", [(-1.5, 0.5), (0.0, -1.0)])
def test_samples_match_enumeration(case, row):
    mechanism, every = case
    n = 40_000
    outputs = mechanism.sample(np.tile(row, (n, 1)), np.random.default_rng(20240501))
    law = every[row]
    reads, counts = np.unique(outputs, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, reads.tolist()), counts.tolist()))
    assert set(seen) <= set(law)
    common = [read for read, chance in law.items() if chance * n >= 5]
    observed = np.array([seen.get(read, 0) for read in common], dtype=float)
    expected = np.array([law[read] for read in common]) * n
    observed, expected = np.append(observed, n - observed.sum()), np.append(expected, n - expected.sum())
    big = expected > 1e-6
    assert chisquare(observed[big], expected[big] * (n / expected[big].sum())).pvalue > 1e-3


@pytest.mark.parametrize("name", CASES)
def test_curve_matches_bits_and_bounds_decoded_values(name):
    mechanism, ones = CASES[name]
    low, high, fpr = (0.5, 1.5), (1.0, -1.0), np.linspace(0, 1, 101)
    curve = tradeoff.max_tpr(fpr, mechanism.curve(np.array(low), np.array(high)))
    of_bits, of_numbers = (
        tradeoff.max_tpr(fpr, tradeoff.exact_curve(list(every[low].values()), list(every[high].values())))
        for every in (laws(ones, read=False), laws(ones))
    )
    np.testing.assert_allclose(curve, of_bits, atol=2e-4)  # sums of losses lie on a lattice
    assert (curve >= of_bits - 1e-9).all()
    assert (curve >= of_numbers - 1e-9).all()


@pytest.mark.parametrize(
    ("name", "slack"), [("bitrand, exact", 1e-6), ("ome, exact", np.inf), ("bit_response", 1e-6)]
)
def test_guarantee_curve_covers_the_worst_rows(name, slack):
    mechanism, ones = CASES[name]
    fpr, every = np.linspace(0, 1, 41), laws(ones, read=False)
    allowed, found = tradeoff.max_tpr(fpr, mechanism.guarantee), np.zeros(fpr.size)
    for low, high in product(every.values(), repeat=2):
        between = tradeoff.exact_curve(list(low.values()), list(high.values()))
        found = np.maximum(found, tradeoff.max_tpr(fpr, between))
    assert (found <= allowed + 1e-9).all()
    assert (found >= allowed - slack).all()


def test_many_bits_bound_is_nearly_reached():
    mechanism = ome.Mechanism(epsilon=10.0, calibrate=BitCalibration.EXACT)
    low, high = np.full(512, -0b010101010 / 16), np.full(512, 0b101010101 / 16)  # every bit differs
    reached, allowed = mechanism.curve(low, high), mechanism.guarantee
    assert 0.52 < tradeoff.max_accuracy(reached) <= tradeoff.max_accuracy(allowed)
    assert tradeoff.max_accuracy(allowed) - tradeoff.max_accuracy(reached) < 1e-3


def test_equal_rows_have_no_privacy_loss(case):
    curve = case[0].curve(np.array([0.5, -1.0]), np.array([0.5, -1.0]))
    np.testing.assert_allclose(curve.fpr, curve.tpr, atol=1e-12)


def test_invalid_outputs_are_impossible():
    mechanism = bitrand.Mechanism(epsilon=1.0)
    law = mechanism.log_law(np.array([0.03, 32.0, -40.0, np.nan, np.inf, 0.0625]), np.zeros(6))
    assert law[:5].tolist() == [-np.inf] * 5
    assert np.isfinite(law[5])


def test_noise_is_independent_for_any_shape():
    mechanism = ome.Mechanism(epsilon=1.0, alpha=2.0, variant=ome.OmeVariant.LYU)
    outputs = mechanism.sample(np.full((3, 40, 512), 2.5, dtype=np.float32), np.random.default_rng(1))
    assert outputs.shape == (3, 40, 512)
    assert outputs.dtype == np.float64
    rows = outputs.reshape(120, 512)
    assert len(np.unique(rows, axis=0)) == 120
    assert abs(np.corrcoef(rows[:60].ravel(), rows[60:].ravel())[0, 1]) < 0.03
    assert abs(np.corrcoef(rows[:, :256].ravel(), rows[:, 256:].ravel())[0, 1]) < 0.03


def test_wide_and_empty_rows_are_sampled():
    mechanism, rng = bitrand.Mechanism(epsilon=1.0, features=20_000), np.random.default_rng(1)
    assert mechanism.sample(np.ones((2, 20_000)), rng).shape == (2, 20_000)
    assert mechanism.sample(np.ones((0, 512)), rng).shape == (0, 512)


def test_values_are_saturated_if_few_or_if_requested():
    values = np.zeros(1000)
    values[:10] = 40.0
    assert bitrand.Mechanism(epsilon=1.0).require_range(values) == 0.01
    values[10] = -40.0
    with pytest.raises(BadInput, match=r"bitrand: 1.1% of the values lie beyond \+-31.9375"):
        bitrand.Mechanism(epsilon=1.0).require_range(values)
    assert bitrand.Mechanism(epsilon=1.0, saturate=True).require_range(values) == 0.011


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rejects_non_finite_features(value):
    for call in (
        lambda: bitrand.Mechanism(epsilon=1.0).sample(np.array([value]), np.random.default_rng(1)),
        lambda: bitrand.Mechanism(epsilon=1.0).require_range(np.array([value])),
    ):
        with pytest.raises(BadInput, match="finite"):
            call()


def test_rejects_rows_with_more_features_than_promised():
    with pytest.raises(BadInput, match=r"rows of 513 features.*state features = 513"):
        bitrand.Mechanism(epsilon=1.0).sample(np.zeros((1, 513)), np.random.default_rng(1))


def test_rejects_table_of_too_many_levels():
    with pytest.raises(BadInput, match="at most 12 bits"):
        bitrand.Mechanism(epsilon=1.0, bits=(6, 6)).table()


@pytest.mark.parametrize("kind", [bitrand, ome, bit_response])
def test_calibration_accepts_a_name(kind):
    for word, member in (("exact", BitCalibration.EXACT), ("nominal", BitCalibration.NOMINAL)):
        said, meant = (
            kind.Mechanism(epsilon=1.5, calibrate=calibrate, **SMALL) for calibrate in (word, member)
        )
        assert said.law == meant.law
        assert said.guarantee.epsilon == meant.guarantee.epsilon
