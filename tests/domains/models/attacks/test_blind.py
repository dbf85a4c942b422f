from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import challenger, knowledge
from leakgauge.domains.models.attacks.blind import Attack
from leakgauge.domains.models.release import TrainingRound


def trials_of(game, n_rounds, targets, **changes):
    table = {
        "game": game,
        "members": 100,
        "targets": targets,
        "dependence": {"name": "source", "group": "component", "members": "1"},
        "hidden": [],
    }
    owner = challenger.build(
        data={"rows": 4_000, "features": 8, "components": 3, "distance": 3.0},
        challenger=table | changes,
        mechanism={"name": "none"},
        folder=Path(),
        seed=3,
    )
    known = knowledge.build("blind", {}, owner, 3)
    scorer = Attack().study(known, stream(1, Role.STUDY))
    members = owner.flip(n_rounds, np.random.default_rng(1))
    rounds = owner.release(members, np.random.default_rng(2))
    scores = scorer.score(known.view(rounds), np.random.default_rng(0))
    return members, scores, scorer.reading


def advantage(members, scores):
    return (scores[members] >= 0).mean() - (scores[~members] >= 0).mean()


def test_secret_component_makes_blind_attack_useless(monkeypatch):
    monkeypatch.setattr(TrainingRound, "model", property(lambda self: pytest.fail("a model was looked at")))
    members, scores, reading = trials_of("mixture", 2_000, 1)
    assert abs(advantage(members, scores)) < 3 * np.sqrt(0.5 / 1_000)
    assert reading.studied["component_of_record"] > 0.8  # it is not for want of knowing components


def test_fixed_group_is_revealed_by_records_alone(monkeypatch):
    monkeypatch.setattr(TrainingRound, "model", property(lambda self: pytest.fail("a model was looked at")))
    members, scores, reading = trials_of("group", 20, 100)
    found = advantage(members, scores)
    assert found > 0.6
    assert found == pytest.approx(2 * reading.studied["component_of_record"] - 1, abs=0.06)


def test_independent_rows_reveal_nothing():
    members, scores, _ = trials_of("group", 500, 100, control=True)
    assert abs(advantage(members, scores)) < 3 * np.sqrt(0.5 / 25_000)


def test_block_can_be_replayed():
    first, again = (trials_of("mixture", 5, 2)[1] for _ in range(2))
    np.testing.assert_array_equal(first, again)
