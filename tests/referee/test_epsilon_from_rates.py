import numpy as np
import pytest

from leakgauge.referee.epsilon_from_rates import _chance_all_hold, dkw_margin, local_level, local_levels_band


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_joint_coverage_matches_simulation(n):
    rng = np.random.default_rng(20240501)
    level = 0.02
    from scipy.stats import beta

    edges = beta.ppf(1 - level, np.arange(1, n + 1), n - np.arange(n))
    held = np.mean((np.sort(rng.random((200_000, n)), axis=1) <= edges).all(axis=1))
    assert _chance_all_hold(n, level) == pytest.approx(held, abs=4 * np.sqrt(held * (1 - held) / 200_000))


def test_single_score_uses_the_whole_level():
    assert _chance_all_hold(1, 0.03) == pytest.approx(0.97)


@pytest.mark.parametrize("n", [100, 500])
def test_band_covers_at_nominal_rate(n):
    rng = np.random.default_rng(20240501)
    band = local_levels_band(n, 0.05)
    broken = np.mean(
        [(np.sort(rng.random((1000, n)), axis=1) > band[:-1]).any(axis=1).mean() for _ in range(20)]
    )
    assert broken == pytest.approx(0.05, abs=0.006)


def test_level_is_between_bonferroni_and_uncorrected():
    for n in (10, 200, 2000):
        assert 0.025 / n < local_level(n, 0.025) < 0.025


def test_bands_widen_with_confidence():
    assert dkw_margin(100, 0.001) > dkw_margin(100, 0.01) > dkw_margin(100, 0.4)
    assert (local_levels_band(50, 0.001)[:-1] > local_levels_band(50, 0.1)[:-1]).all()


def test_dkw_margin_matches_massart():
    assert dkw_margin(800, 0.025) == pytest.approx(np.sqrt(np.log(40) / 1600))


def test_level_falls_with_number_of_scores():
    from leakgauge.referee.epsilon_from_rates import _level

    levels = [_level(n, 0.025) for n in (1, 2, 3, 10, 31, 100, 316, 1000)]
    assert levels == sorted(levels, reverse=True)
    assert local_level(1000, 0.025) <= _level(1000, 0.025)
