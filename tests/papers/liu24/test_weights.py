import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import weights
from leakgauge.papers.liu24.networks import Weights
from leakgauge.papers.paper import Scale
from leakgauge.strategies.rule_index import RuleIndex

ODD = np.linspace(-0.01, 0.01, 3_600).reshape(60, 60)
SUM = Weights(1 + ODD, np.zeros(60), RuleIndex(diagonal=1 / 60, one_threshold=1.0, two_threshold=0.9))
VOTES = Weights(
    np.eye(60) + ODD, np.full(60, -0.5), RuleIndex(diagonal=1.0, one_threshold=0.9, two_threshold=1.0)
)


@pytest.fixture
def learned(monkeypatch):
    """Let networks have learned something, without learning it; say who was asked for."""
    asked = []

    def pretend_to_learn(found):
        def weights_of(plans, series, player):
            asked.append((series.name, player.knowledge, player.shadows, player.hidden))
            return found

        monkeypatch.setattr(weights, "weights_of", weights_of)
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
def test_each_figure_shows_the_network_that_the_paper_shows(figure, who, learned, pretend):
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
def test_the_rule_that_was_learned_is_told(figure, found, verdict, learned, pretend):
    learned(found)
    stated = [cell for cell in pretend(figure).cells if cell.published is not None]
    assert [cell.verdict for cell in stated] == [verdict]


def test_fewer_shadows_than_in_the_paper_are_not_compared(learned, pretend):
    learned(SUM)
    shown = pretend("figure_26")
    assert not [cell for cell in shown.cells if cell.published is not None]
    assert "use --scale full" in shown.cells[0].reason
