"""The positive control of a query oracle: the same oracle, with noise too small to hide a record."""

import numpy as np
import pytest

from domains.queries.small_table import game
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries import challenger as queries
from leakgauge.domains.queries.challenger import build
from positive_control_play import played

ATTACKS = ("split_midpoint", "split_likelihood", "split_t_test", "repeat", "combined")


def built(folder, mechanism=None, **challenger):
    return build(
        data={"records": 60},
        challenger={"targets": 3, **challenger},
        mechanism=mechanism or {"name": "laplace", "epsilon": 0.01},
        folder=folder,
        seed=1,
    )


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", ["laplace", "geometric"])
def test_target_is_found_within_the_same_budget(attack, name, tmp_path):
    protected = built(tmp_path, {"name": name, "epsilon": 0.01}, budget=0.05)
    control = protected.control()
    assert control.rules.most_answers == protected.rules.most_answers == 5
    assert played("queries", control, attack)["status"] == "passed"


def test_refusals_reveal_nothing_if_every_answer_is_charged(tmp_path):
    """A weak attack fails, although the path is in order."""
    control = built(tmp_path, budget=0.05).control()
    assert played("queries", control, "refusal", queries=10)["status"] == "failed"


def test_oracle_that_answers_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        queries.QueriesBlock,
        "oracle",
        lambda block: type("Mute", (), {"ask": lambda _, query: np.full(len(block.members), np.nan)})(),
    )
    with pytest.raises(BadInput, match="the service answers nothing"):
        built(tmp_path).control()


def test_sweep_over_the_family_of_noise_has_one_control_for_each_cost(tmp_path):
    one, other = built(tmp_path), built(tmp_path, {"name": "laplace", "epsilon": 0.02})
    assert one.control().digest == built(tmp_path).control().digest != other.control().digest


def test_control_of_a_sum_scales_with_the_target(tmp_path):
    control = game(targets=1).control()
    assert control.rules.noise_of(control.query).noise_scale == pytest.approx(abs(control.rules.shift) / 20)
