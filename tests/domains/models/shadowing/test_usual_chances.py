import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from leakgauge.domains.models.shadowing.usual_chances import best_a, from_without, with_and_without

CHANCES = np.array([[0.9, 0.2], [0.7, 0.4], [0.3, 0.6]])
MEMBERS = np.array([[True, False], [True, False], [False, True]])


def test_what_is_usual_is_half_with_and_half_without():
    np.testing.assert_allclose(
        np.exp(with_and_without(np.log(CHANCES), MEMBERS)), [(0.8 + 0.3) / 2, (0.6 + 0.3) / 2]
    )


def test_without_the_record_the_other_half_follows_from_a():
    for a in (0.0, 0.3, 1.0):
        expected = [((a * p + 1 - a) + p) / 2 for p in (0.3, 0.3)]
        np.testing.assert_allclose(np.exp(from_without(np.log(CHANCES), ~MEMBERS, a)), expected)


def test_chances_that_are_next_to_nothing_stay_finite():
    assert np.isfinite(from_without(np.full((2, 1), -700.0), np.ones((2, 1), dtype=bool), 1.0)).all()


def simulated(gain, n_shadows=6, n_rows=300):
    """Chances of rows of many difficulties, and what members gain."""
    rng = np.random.default_rng(3)
    members = rng.random((n_shadows, n_rows)) < 0.5
    difficulty = rng.normal(0, 2, n_rows)
    logits = difficulty + rng.normal(0, 0.3, (n_shadows, n_rows))
    chances = 1 / (1 + np.exp(-logits))
    return np.log(np.where(members, gain(chances), chances)), members


def mean_auc(logs, members, a):
    """By loops, from the definition: every shadow is told by the others."""
    aucs = []
    for place in range(len(logs)):
        ratios, truth = [], []
        for row in range(logs.shape[1]):
            outs = [s for s in range(len(logs)) if s != place and not members[s, row]]
            if outs:
                p = np.mean([np.exp(logs[s, row]) for s in outs])
                ratios.append(np.exp(logs[place, row]) / (0.5 * ((1 + a) * p + 1 - a)))
                truth.append(members[place, row])
        aucs.append(roc_auc_score(truth, ratios))
    return np.mean(aucs)


@pytest.mark.parametrize("gain", [lambda p: 0.2 * p + 0.8, lambda p: np.minimum(1.5 * p, 1.0)])
def test_the_chosen_a_tells_members_of_shadows_best(gain):
    logs, members = simulated(gain)
    grid = np.round(np.linspace(0, 1, 11), 1)
    found = {float(a): mean_auc(logs, members, a) for a in grid}
    assert found[round(best_a(logs, members), 1)] == pytest.approx(max(found.values()), abs=1e-9)
    assert max(found.values()) - min(found.values()) > 0.01  # so that there is something to choose


def test_shadows_that_have_no_say_leave_a_in_range():
    assert best_a(np.log(CHANCES[:2, :1]), np.ones((2, 1), dtype=bool)) == 1.0
