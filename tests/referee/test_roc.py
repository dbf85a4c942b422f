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


def test_a_thinned_curve_stays_close_also_where_false_positives_are_rare():
    full = np.linspace(0, 1, 5001)
    fpr, tpr = thin_curve(full, np.sqrt(full), 110)
    assert fpr.size <= 110
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0.0, 0.0, 1.0, 1.0)
    rare = np.geomspace(full[1], 1, 400)
    np.testing.assert_allclose(np.interp(rare, fpr, tpr), np.sqrt(rare), rtol=0.03)


def test_thinning_keeps_the_largest_tpr_without_a_false_positive():
    noise = np.random.default_rng(1).random(5000)
    fpr = np.concatenate([np.zeros(300), np.linspace(0, 1, 5001)[1:]])
    tpr = np.concatenate([np.linspace(0, 0.4, 300), 0.4 + 0.6 * np.sort(noise)])
    thin_fpr, thin_tpr = thin_curve(fpr, tpr, 110)
    assert thin_fpr.size <= 110
    assert thin_tpr[thin_fpr == 0].max() == 0.4


def test_a_short_curve_without_points_on_a_line_is_not_touched():
    fpr, tpr = thin_curve(np.array([0.0, 0.2, 1.0]), np.array([0.0, 0.8, 1.0]))
    assert (fpr.tolist(), tpr.tolist()) == ([0.0, 0.2, 1.0], [0.0, 0.8, 1.0])


def test_short_curve_loses_only_collinear_points():
    fpr, tpr = thin_curve(np.array([0, 0.25, 0.5, 1.0]), np.array([0, 0.25, 0.5, 1.0]))
    assert fpr.tolist() == tpr.tolist() == [0, 1]
