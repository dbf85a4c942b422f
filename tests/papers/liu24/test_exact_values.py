import numpy as np
import pytest

from leakgauge.papers.liu24 import exact_values
from leakgauge.papers.liu24.plans import SCALE, SIGMA

N_DRAWN = 200_000


@pytest.fixture(scope="module")
def drawn():
    """Cells of members and of others, of both noises; noise of numpy's own."""
    rng = np.random.default_rng(20240501)
    laplace = rng.laplace(scale=SCALE, size=(2, N_DRAWN, 20))
    gaussian = SIGMA * rng.standard_normal((2, N_DRAWN, 20))
    return {"laplace": laplace, "gaussian": gaussian}


def scores(attack, noise):
    without, with_target = noise[0], noise[1] + 1
    for cells in (with_target, without):
        match attack:
            case "one_threshold":
                yield cells.sum(axis=1)
            case "two_threshold":
                yield (cells >= 0.5).sum(axis=1).astype(float)
            case "likelihood":
                yield np.clip(cells, 0, 1).sum(axis=1)  # for Laplace noise alone


def auc(members, others):
    ranked = np.sort(others)
    below, not_above = (np.searchsorted(ranked, members, side=side) for side in ("left", "right"))
    return (below + not_above).mean() / 2 / others.size


@pytest.mark.parametrize("attack", ["one_threshold", "two_threshold", "likelihood"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_auc_matches_simulated_scores(noise, attack, drawn):
    told = "one_threshold" if noise == "gaussian" and attack == "likelihood" else attack
    found = auc(*scores(told, drawn[noise]))
    assert exact_values.auc(noise, attack, np.array([20.0]))[0] == pytest.approx(found, abs=0.003)


def test_sum_tail_matches_simulation(drawn):
    thresholds = np.array([-10.0, 0.0, 12.5, 30.0])
    for member, cells in zip((False, True), drawn["laplace"], strict=True):
        sums = (cells + member).sum(axis=1)
        found = (sums[:, None] > thresholds).mean(axis=0)
        assert exact_values.sum_above(20, thresholds, member=member) == pytest.approx(found, abs=0.004)


def test_rules_are_below_optimum_and_optimum_below_bound():
    n = np.array([2.0, 20.0, 60.0])
    for noise in ("laplace", "gaussian"):
        best = exact_values.accuracy(noise, "likelihood", n)
        for attack in ("one_threshold", "two_threshold"):
            assert (exact_values.accuracy(noise, attack, n) <= best + 1e-9).all()
            assert (
                exact_values.auc(noise, attack, n) <= exact_values.auc(noise, "likelihood", n) + 1e-6
            ).all()
        assert (best <= exact_values.any_mechanism(noise, n)).all()
