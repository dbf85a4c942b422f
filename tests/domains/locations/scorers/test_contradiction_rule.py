import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, town, traces
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.scorers.contradiction_rule import (
    CERTAIN,
    ContradictionRule,
    contradiction_applies,
)


def test_rule_is_used_for_raw_counts_and_known_traces():
    people = town()
    for mechanism, used in (
        (RAW, True),
        (RAW | {"round": True, "clamp": True}, True),
        (RAW | {"suppress": 1}, False),
        (LAPLACE, False),
    ):
        knowledge = build("auxiliary", {}, game(people, mechanism), seed=1)
        assert contradiction_applies(knowledge.public, knowledge.sketches[0]) == used


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("friends", {}),
        ("auxiliary", {"trace": 0.5}),
        ("zero", {"places": "all", "spread": "greedy"}),
        ("auxiliary", {"places": 1, "spread": "random"}),
        ("auxiliary", {"observations": 1}),
    ],
)
def test_rule_is_not_used_for_partial_traces(name, known):
    guessed = build(name, known, game(town(), RAW), seed=1)
    assert not contradiction_applies(guessed.public, guessed.sketches[0])


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_rule_finds_exactly_the_contradictions(relation):
    challenger = game(town(density=0.03), RAW, relation=relation, targets=3)
    members = challenger.flip(400, np.random.default_rng(1))
    played = challenger.release(members, np.random.default_rng(2))
    knowledge = build("auxiliary", {}, challenger, seed=1)
    front = ContradictionRule(knowledge.public, knowledge.sketches)
    found = front(knowledge.view(played), np.zeros((400, 3))) == -CERTAIN
    counts = played.rounds.counts()
    for target, person in enumerate(challenger.people.targets):
        own = challenger.traces.visits[[person]].toarray().ravel() == 1
        empty = np.array([(row[own] == 0).any() or (row[~own] == 20).any() for row in counts])
        np.testing.assert_array_equal(found[:, target], empty)
    assert not found[members].any()
    assert found[~members].any()


def test_full_cell_contradicts_absence():
    visits = np.zeros((60, 3), dtype=int)
    visits[:, 0] = 1  # everybody is here
    visits[0] = [0, 1, 1]  # but one
    visits[1:, 1] = 1
    visits[1:, 2] = 1
    challenger = next(
        made
        for made in (game(traces(visits), RAW, seed=seed, relation="replace_one") for seed in range(1000))
        if made.people.targets[0] == 0
    )
    members = np.array([[True], [False]])
    seen = build("auxiliary", {}, challenger, seed=1)
    front = ContradictionRule(seen.public, seen.sketches)
    scores = front(seen.view(challenger.release(members, np.random.default_rng(1))), np.ones((2, 1)))
    assert scores.ravel().tolist() == [1.0, -CERTAIN]
