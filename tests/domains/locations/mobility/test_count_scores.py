import numpy as np
import pytest
from scipy.stats import poisson

from leakgauge.domains.locations.mobility.count_scores import count_scores
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import gaussian, laplace

SIZE = 400
CHAINS = {
    "raw": ReleaseChain(noise=None, group_size=SIZE),
    "suppressed": ReleaseChain(noise=None, group_size=SIZE, suppress=3),
    "rounded": ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=SIZE, round=True, clamp=True),
    "loud": ReleaseChain(noise=laplace.Mechanism(scale=8.0), group_size=SIZE, round=True),
    "unrounded": ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=SIZE),
    "clamped": ReleaseChain(noise=gaussian.Mechanism(sigma=2.0, delta=1e-5), group_size=SIZE, clamp=True),
}
COUNTS = np.arange(200)
LOGS = np.log([0.02, 0.4, 3.0, 12.0])


def log_likelihood(chain, log_rate, outputs):
    masses = poisson.pmf(COUNTS, np.exp(log_rate))
    return np.log((masses * np.exp(chain.log_law(outputs[:, None], COUNTS))).sum(axis=1))


def drawn(chain, log_rate, n, seed=1):
    rng = np.random.default_rng(seed)
    return chain.sample(rng.poisson(np.exp(log_rate), n), rng)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_score_is_slope_of_log_likelihood(chain):
    for log_rate in LOGS:
        outputs = np.unique(drawn(chain, log_rate, 300))
        found = count_scores(outputs, chain, SIZE, 40.0)
        row = int(found.nearest(np.array(log_rate)))
        at, step = float(found.log_rates(np.array(row))), 1e-4
        slopes = [log_likelihood(chain, at + sign * step, outputs) for sign in (1, -1)]
        expected = (slopes[0] - slopes[1]) / (2 * step)
        error = 1e-5 if found.whole else 0.05 * max(1.0, np.exp(at))  # outputs are put into bins
        np.testing.assert_allclose(found.scores[row][found.columns(outputs)], expected, atol=error)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_mean_score_follows_the_true_rate(chain):
    """Within a tenth of its change, and five standard errors, for rates up to a third higher or lower."""
    for log_rate in LOGS[1:]:
        for more in (-0.3, 0.3):
            outputs = drawn(chain, log_rate + more, 100_000)
            found = count_scores(outputs, chain, SIZE, 40.0)
            row = found.nearest(np.array(log_rate))
            distance = log_rate + more - found.log_rates(row)
            exponent, information = found.exponents[row], found.information[row]
            expected = information * np.expm1(exponent * distance) / exponent
            scores = found.scores[row][found.columns(outputs)]
            error = 5 * scores.std() / np.sqrt(outputs.size)
            assert scores.mean() == pytest.approx(expected, rel=0.1, abs=error)


def test_counts_without_noise_are_poisson():
    found = count_scores(np.arange(60.0), CHAINS["raw"], SIZE, 20.0)
    rows = found.nearest(LOGS)
    rates = np.exp(found.log_rates(rows))
    np.testing.assert_allclose(found.information[rows], rates, rtol=1e-6)
    np.testing.assert_allclose(found.exponents[rows], 1.0, rtol=1e-4)
    np.testing.assert_allclose(found.scores[rows][:, :40], np.arange(40) - rates[:, None], atol=1e-9)


@pytest.mark.parametrize(
    ("name", "least"), [("raw", 1.0), ("suppressed", 4.0), ("rounded", None), ("loud", None)]
)
def test_counts_that_are_published_as_they_are_are_found(name, least):
    assert count_scores(None, CHAINS[name], SIZE, 40.0).exact == least


@pytest.mark.parametrize(("largest", "most"), [(50.5, 60.0), (70.5, 60.0), (500.5, 200.0), (500.5, 250.0)])
@pytest.mark.parametrize("variance", [0.0, 2.0], ids=["raw", "unrounded"])
def test_information_is_that_of_all_outputs(variance, largest, most):
    """Also if few of them occurred: rate^2 / (rate + variance) for normal counts and noise."""
    chain = CHAINS["unrounded" if variance else "raw"]
    seen = np.array([19.5, largest])
    found = count_scores(seen if variance else np.floor(seen), chain, SIZE, most)
    rows = found.nearest(np.log(most * np.array([0.5, 0.8, 0.9, 1.0])))
    assert rows.max() < len(found.scores) - 1
    rates = np.exp(found.log_rates(rows))
    np.testing.assert_allclose(found.information[rows], rates**2 / (rates + variance), rtol=0.005)
    np.testing.assert_allclose(found.exponents[rows], 1.0, atol=0.08)


def test_each_output_has_its_own_score_if_none_is_small():
    outputs = np.arange(19.0, 60.0)
    found = count_scores(outputs, CHAINS["raw"], SIZE, 30.0)
    row = found.nearest(np.log(30.0))
    rate = np.exp(found.log_rates(row))
    np.testing.assert_allclose(found.scores[row][found.columns(outputs)], outputs - rate, atol=1e-9)


def test_improbable_outputs_have_finite_scores():
    found = count_scores(np.array([0.0, 250.0]), CHAINS["raw"], SIZE, 1.0)
    assert np.isfinite(found.scores).all()
    assert found.scores[0][found.columns(np.array([250.0]))] == pytest.approx(250.0, abs=1e-3)
