import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_trials import trials
from leakgauge.core.errors import BadInput
from leakgauge.referee.metrics.auc import placements
from leakgauge.referee.roc import roc, thin_curve

ROWS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 2)), min_size=2, max_size=40
).filter(lambda rows: {member for member, _, _ in rows} == {True, False})


def pairs_won(members, scores):
    wins = [(a > b) + (a == b) / 2 for a in scores[members] for b in scores[~members]]
    return np.sum(wins), len(wins)


@given(ROWS)
def test_area_equals_pair_counting(rows):
    members = np.array([row[0] for row in rows])
    scores = np.array([row[1] for row in rows], float)
    won, n = pairs_won(members, scores)
    assert roc(trials(members, scores)).auc == pytest.approx(won / n)


@given(ROWS)
def test_placements_equal_pair_counting_in_every_group(rows):
    members = np.array([row[0] for row in rows])
    scores = np.array([row[1] for row in rows], float)
    groups = np.array([row[2] for row in rows])
    found = placements(groups, scores, members)
    for i, (member, score, group) in enumerate(zip(members, scores, groups, strict=True)):
        opponents = scores[(groups == group) & (members != member)]
        expected = sum(((score > o) if member else (o > score)) + (o == score) / 2 for o in opponents)
        assert found.won[i] == expected
        assert found.opponents[i] == opponents.size


def test_single_class_has_no_curve():
    with pytest.raises(BadInput, match="members and non-members"):
        roc(trials(np.ones(4, bool), np.arange(4)))


def test_thinned_curve_keeps_ends_and_area():
    rng = np.random.default_rng(1)
    members = rng.random(20_000) < 0.5
    full = roc(trials(members, rng.normal(members * 1.0)))
    fpr, tpr = thin_curve(full.fpr, full.tpr)
    assert fpr.size <= 500
    assert (fpr[0], tpr[-1]) == (0, 1)
    assert np.count_nonzero(fpr < 0.01) > 50
    assert np.trapezoid(tpr, fpr) == pytest.approx(full.auc, abs=2e-3)


def test_short_curve_loses_only_collinear_points():
    fpr, tpr = thin_curve(np.array([0, 0.25, 0.5, 1.0]), np.array([0, 0.25, 0.5, 1.0]))
    assert fpr.tolist() == tpr.tolist() == [0, 1]
