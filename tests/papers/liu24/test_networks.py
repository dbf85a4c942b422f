import numpy as np
import pytest
from scipy.special import expit

from leakgauge.core.errors import BadInput
from leakgauge.papers.liu24 import networks
from leakgauge.papers.liu24.games import INFORMED, NETWORK, Player, Series
from leakgauge.papers.paper import Run
from leakgauge.strategies.rule_index import RuleIndex

PLAYER = Player(attack=NETWORK, knowledge=INFORMED, n=4, shadows=400)
PLAN = f"""
seed = 5
[[audit]]
name = "tiny_0"
domain = "locations"
rounds = 10
data = {{ source = "synthetic", users = 300, sites = 9, epochs = 24, visits = 20 }}
challenger = {{ group_size = 50, targets = {{ n = 1, min_visits = 10 }} }}
mechanism = {{ name = "laplace", epsilon = 2.0 }}
attacks = [
{Player(attack="one_threshold", knowledge=INFORMED, n=4).words}
{PLAYER.words}
]
"""
TINY = Series("tiny", (Run(name="tiny_0", plan=lambda scope: PLAN),))


def test_the_network_that_played_is_trained_again(tmp_path):
    from leakgauge.catalog import prepare
    from leakgauge.core.randomness import Role, stream
    from leakgauge.plan import read_plan

    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    plan = read_plan(path)
    game = prepare(plan.audits[0], plan)
    label = plan.audits[0].contenders[1].label
    scorer = game.attacks[label].study(game.knowledges[label], stream(plan.seed, Role.STUDY))
    learned = scorer.score.watches[0].rule.learned
    rows = np.random.default_rng(1).normal(size=(20, 4))
    units = expit((rows - learned.centre) / learned.size @ learned.network.inner + learned.network.inner_bias)
    towards = np.where(learned.network.outer < 0, 1 - units, units)

    weights = networks.weights_of({"tiny_0": PLAN}, TINY, PLAYER)
    again = expit(rows @ weights.inner + weights.bias)
    np.testing.assert_allclose(np.sort(again, axis=1), np.sort(towards, axis=1), atol=1e-6)


def test_somebody_who_did_not_play_has_no_weights():
    other = Player(attack=NETWORK, knowledge=INFORMED, n=5, shadows=400)
    with pytest.raises(BadInput, match="nobody like"):
        networks.weights_of({"tiny_0": PLAN}, TINY, other)


def test_units_are_put_beside_their_cells_and_turned_to_the_target():
    votes = np.diag([3.0, 2.0, 1.0])
    mixed, signs = votes[:, [2, 0, 1]] * [1.0, -1.0, 1.0] + 0.01, np.array([1.0, -1.0, 1.0])
    inner, bias = networks._ordered(mixed, np.array([1.0, 2.0, 3.0]), signs)
    np.testing.assert_allclose(np.diagonal(inner), [2.99, 2.01, 1.01])
    assert bias.tolist() == [-2.0, 3.0, 1.0]


def test_more_units_than_cells_come_last():
    inner, bias = networks._ordered(np.array([[0.1, 5.0, 0.2]]), np.array([1.0, 2.0, 3.0]), np.ones(3))
    assert inner.tolist() == [[5.0, 0.1, 0.2]]
    assert bias.tolist() == [2.0, 1.0, 3.0]


def test_the_contrast_is_that_of_the_diagonal():
    index = RuleIndex(diagonal=0.5, one_threshold=0.0, two_threshold=0.0)
    assert networks.Weights(2 * np.eye(3) + 1, np.zeros(3), index).contrast == pytest.approx(3.0)
