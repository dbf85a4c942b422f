import numpy as np
import pytest
from scipy.special import ndtr

from domains.locations.small_town import LAPLACE, game, town, traces
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.ratios.ratio_trials import _tied, try_out


def tried(challenger, name="auxiliary", n=2_000, **parameters):
    knowledge = build(name, parameters, challenger, 1)
    rates = [knowledge.visitors[sketch.cells] / knowledge.reference.n_people for sketch in knowledge.sketches]
    return try_out(knowledge, knowledge.public.chain, rates, n, np.random.default_rng(1))


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("name", "parameters"), [("auxiliary", {}), ("partial", {"theta": 0.5}), ("informed", {})]
)
def test_scores_of_shadows_are_log_likelihood_ratios(name, parameters, relation):
    """Non-members have a mean likelihood ratio of one; cells are independent here, and groups small."""
    crowd = town(n_people=800, n_places=10, density=0.05)
    challenger = game(crowd, LAPLACE, targets={"n": 2, "min_visits": 3}, relation=relation, group_size=20)
    for one in tried(challenger, name, 4_000, **parameters):
        assert one.members.sum() == 2_000
        ratios = np.exp(one.scores[~one.members])
        assert ratios.mean() == pytest.approx(1.0, abs=4 * ratios.std() / np.sqrt(2_000))
        assert one.scores[one.members].mean() > one.scores[~one.members].mean()


def test_independent_cells_are_not_tied():
    rng = np.random.default_rng(2)
    members = rng.random(4_000) < 0.5
    ratios = rng.normal(np.where(members, 0.1, -0.1)[:, None], 1.0, size=(4_000, 20))
    assert _tied(ratios, members) == pytest.approx(0.0, abs=0.01)


def test_what_ties_cost_is_the_difference_of_two_normal_aucs():
    """Twenty cells with a common part: variances 20 x 2 apart, 20 x 1 + 400 x 1 together."""
    rng = np.random.default_rng(3)
    members = rng.random(40_000) < 0.5
    common = rng.normal(size=(40_000, 1))
    ratios = rng.normal(np.where(members, 0.2, -0.2)[:, None], 1.0, size=(40_000, 20)) + common
    distance = 20 * 0.4
    expected = ndtr(distance / np.sqrt(2 * 40)) - ndtr(distance / np.sqrt(2 * 420))
    assert _tied(ratios, members) == pytest.approx(expected, abs=0.01)


def test_certainty_does_not_drown_the_rest():
    ratios = np.array([[1e6, 1.0], [-1e6, -1.0], [1e6, 0.5], [-1e6, -0.5]])
    assert abs(_tied(ratios, np.array([True, False, True, False]))) < 1
    assert _tied(np.zeros((4, 2)), np.array([True, False, True, False])) == 0


def test_people_who_move_together_tie_cells():
    rng = np.random.default_rng(4)
    active = rng.random((300, 1)) < 0.5
    visits = rng.random((300, 60)) < np.where(active, 0.4, 0.01)
    challenger = game(traces(visits), LAPLACE, targets={"n": 1, "choose": "most"}, group_size=60)
    (found,) = tried(challenger)
    assert found.tied > 0.02
