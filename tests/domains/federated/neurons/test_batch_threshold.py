import numpy as np
import pytest

from leakgauge.domains.federated.neurons.batch_threshold import BatchRates, batch_rates, best_batch_threshold


def won_at(threshold, own, others, n_others):
    """Written out: the target is above, or none of so many independent rows is."""
    above = sum(score > threshold for score in own) / len(own)
    silent = (sum(score <= threshold for score in others) / len(others)) ** n_others
    return (above + silent) / 2


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("n_others", [1, 19, 99])
def test_threshold_wins_most_games(n_others, whole):
    rng = np.random.default_rng([1, n_others])
    for _ in range(20):
        own, others = rng.normal(1.5, 1, 30), rng.normal(0, 1, 200)
        if whole:  # many ties
            own, others = own.round(), others.round()
        threshold, won = best_batch_threshold(own, others, n_others)
        scores = np.unique(np.concatenate([own, others]))
        everywhere = [scores[0] - 1, *((scores[1:] + scores[:-1]) / 2), scores[-1] + 1]
        assert won == pytest.approx(max(won_at(cut, own, others, n_others) for cut in everywhere))
        assert won_at(threshold, own, others, n_others) == pytest.approx(won)


def test_equally_good_thresholds_are_not_averaged():
    own, others = np.array([1.0, 3.0]), np.array([0.0, 2.0])  # 0.5 and 2.5 win .75, what is between them .5
    threshold, won = best_batch_threshold(own, others, 1)
    assert threshold in (0.5, 2.5)
    assert won == won_at(threshold, own, others, 1) == 0.75


def test_separated_scores_are_cut_midway():
    assert best_batch_threshold(np.array([5.0, 9.0]), np.array([-1.0, 1.0]), 99) == (3.0, 1.0)


def test_rates_are_shares_of_batches():
    own, others = np.array([1.0, -1.0, 2.0, 0.0]), np.array([-1.0] * 9 + [0.5])
    assert batch_rates(own, others, 3) == BatchRates(tpr=0.5, tnr=pytest.approx(0.9**3))
    assert batch_rates(own, others, 3, threshold=0.5) == BatchRates(tpr=0.5, tnr=1.0)
    assert BatchRates(0.5, 1.0).won == 0.75


def test_predicted_share_is_reached_on_new_scores():
    rng = np.random.default_rng(2)
    threshold, promised = best_batch_threshold(rng.normal(4, 1, 20_000), rng.normal(0, 1, 200_000), 99)
    hits = rng.normal(4, 1, 20_000) > threshold
    silent = (rng.normal(0, 1, (20_000, 99)) <= threshold).all(axis=1)
    assert abs((hits.mean() + silent.mean()) / 2 - promised) < 0.01
