import numpy as np
import pytest
from scipy.special import expit

from leakgauge.catalog import prepare_audit
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.classifiers.mlp import RuleIndex
from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import network_weights
from leakgauge.papers.liu24.network_weights import NetworkWeights
from leakgauge.papers.liu24.plans import INFORMED, NETWORK, CellAttackVariant, RepeatedRuns
from leakgauge.papers.paper import PaperRun, Scale
from leakgauge.plan import plan_of

VARIANT = CellAttackVariant(attack=NETWORK, knowledge=INFORMED, n=4, shadows=400)
AUDIT = {
    "name": "tiny_0",
    "domain": "locations",
    "rounds": 10,
    "data": {"source": "synthetic", "users": 300, "sites": 9, "epochs": 24, "visits": 20},
    "challenger": {"group_size": 50, "targets": {"n": 1, "min_visits": 10}},
    "mechanism": {"name": "laplace", "epsilon": 2.0},
    "attacks": [
        CellAttackVariant(attack="one_threshold", knowledge=INFORMED, n=4).attack_table,
        VARIANT.attack_table,
    ],
}
TINY = RepeatedRuns("tiny", (PaperRun(name="tiny_0", audits=lambda scope: [AUDIT]),))


@pytest.fixture
def plan():
    return plan_of({"seed": 5, "audit": [AUDIT]})


@pytest.mark.nightly
def test_network_of_the_run_is_retrained(plan):
    game = prepare_audit(plan.audits[0], plan)
    label = plan.audits[0].contenders[1].label
    scorer = game.attacks[label].study(game.knowledges[label], stream(plan.seed, Role.STUDY))
    learned = scorer.score.target_rules[0].rule.learned
    rows = np.random.default_rng(1).normal(size=(20, 4))
    units = expit((rows - learned.centre) / learned.size @ learned.network.inner + learned.network.inner_bias)
    towards = np.where(learned.network.outer < 0, 1 - units, units)

    weights = network_weights.retrained_weights({"tiny_0": plan}, TINY, VARIANT)
    again = expit(rows @ weights.inner + weights.bias)
    np.testing.assert_allclose(np.sort(again, axis=1), np.sort(towards, axis=1), atol=1e-6)


def test_attack_not_in_plan_has_no_weights(plan):
    other = CellAttackVariant(attack=NETWORK, knowledge=INFORMED, n=5, shadows=400)
    with pytest.raises(BadInput, match="this plan has no attack 'shadow_mlp-400-informed-5'"):
        network_weights.retrained_weights({"tiny_0": plan}, TINY, other)


def test_units_are_matched_to_cells_and_signed():
    votes = np.diag([3.0, 2.0, 1.0])
    mixed, signs = votes[:, [2, 0, 1]] * [1.0, -1.0, 1.0] + 0.01, np.array([1.0, -1.0, 1.0])
    inner, bias = network_weights._ordered(mixed, np.array([1.0, 2.0, 3.0]), signs)
    np.testing.assert_allclose(np.diagonal(inner), [2.99, 2.01, 1.01])
    assert bias.tolist() == [-2.0, 3.0, 1.0]


def test_surplus_units_come_last():
    inner, bias = network_weights._ordered(np.array([[0.1, 5.0, 0.2]]), np.array([1.0, 2.0, 3.0]), np.ones(3))
    assert inner.tolist() == [[5.0, 0.1, 0.2]]
    assert bias.tolist() == [2.0, 1.0, 3.0]


def test_contrast_matches_diagonal():
    index = RuleIndex(diagonal=0.5, one_threshold=0.0, two_threshold=0.0)
    assert network_weights.NetworkWeights(2 * np.eye(3) + 1, np.zeros(3), index).contrast == pytest.approx(
        3.0
    )


ODD = np.linspace(-0.01, 0.01, 3_600).reshape(60, 60)
SUM = NetworkWeights(1 + ODD, np.zeros(60), RuleIndex(diagonal=1 / 60, one_threshold=1.0, two_threshold=0.9))
VOTES = NetworkWeights(
    np.eye(60) + ODD, np.full(60, -0.5), RuleIndex(diagonal=1.0, one_threshold=0.9, two_threshold=1.0)
)


@pytest.fixture
def learned(monkeypatch):
    """Let networks have learned something, without learning it; say who was asked for."""
    asked = []

    def pretend_to_learn(found):
        def weights_of(plans, series, variant):
            asked.append((series.name, variant.knowledge, variant.shadows, variant.hidden))
            return found

        monkeypatch.setattr(network_weights, "retrained_weights", weights_of)
        return asked

    return pretend_to_learn


@pytest.mark.parametrize(
    ("figure", "who"),
    [
        ("figure_12", ("laplace_large", "informed", 2_000, None)),
        ("figure_15", ("laplace_large", "informed", 200_000, None)),
        ("figure_23", ("laplace_large", "auxiliary", 2_000, None)),
        ("figure_24", ("laplace_large", "auxiliary", 200_000, None)),
        ("figure_25", ("hundred", "informed", 2_000, 100)),
        ("figure_26", ("hundred", "informed", 200_000, 100)),
    ],
)
def test_figures_show_the_network_of_the_paper(figure, who, learned, pretend):
    asked = learned(VOTES)
    (chart,) = pretend(figure, scale=Scale.FULL).charts
    assert asked == [who]
    assert chart.name == figure.replace("_", "-")
    assert len(chart.spec["data"]["values"][0]["value"]) == 3_600


@pytest.mark.parametrize(
    ("figure", "found", "verdict"),
    [
        ("figure_12", SUM, Agreement.AGREES),
        ("figure_12", VOTES, Agreement.DIFFERS),
        ("figure_15", VOTES, Agreement.AGREES),
        ("figure_15", SUM, Agreement.DIFFERS),
    ],
)
def test_learned_rule_is_reported(figure, found, verdict, learned, pretend):
    learned(found)
    stated = [cell for cell in pretend(figure).cells if cell.published is not None]
    assert [cell.verdict for cell in stated] == [verdict]


def test_fewer_shadows_than_in_the_paper_are_not_compared(learned, pretend):
    learned(SUM)
    shown = pretend("figure_26")
    assert not [cell for cell in shown.cells if cell.published is not None]
    assert "use --scale full" in shown.cells[0].reason
