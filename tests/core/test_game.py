import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, ChallengerDefaults, Coins, Reading, Scorer, Trials, play


class Blind(ChallengerDefaults):
    n_targets, coins, guarantee, digest = 2, Coins.FAIR, None, ""

    def flip(self, n_rounds, rng):
        return rng.random((n_rounds, self.n_targets)) < 0.5

    def release(self, members, rng):
        return rng.normal(size=members.shape)


class SeesAll:
    def view(self, block):
        return block


def adversary(score, reading=None):
    return Adversary(SeesAll(), Scorer(score, reading or Reading()))


def test_adversaries_of_a_block_face_the_same_bits_and_releases():
    both = {"a": adversary(lambda view, rng: view), "b": adversary(lambda view, rng: -view)}
    found = play(Blind(), both, seed=3, rounds=range(40, 50), block=4)
    np.testing.assert_array_equal(found["a"].members, found["b"].members)
    np.testing.assert_array_equal(found["a"].scores, -found["b"].scores)


def test_rounds_and_targets_number_the_trials():
    found = play(Blind(), {"a": adversary(lambda view, rng: view)}, seed=3, rounds=range(40, 43), block=4)[
        "a"
    ]
    assert found.rounds.tolist() == [40, 40, 41, 41, 42, 42]
    assert found.targets.tolist() == [0, 1, 0, 1, 0, 1]
    assert found.shared_rounds


def test_blocks_differ_and_replays_do_not():
    def scores(block):
        one = {"a": adversary(lambda view, rng: view)}
        return play(Blind(), one, seed=3, rounds=range(5), block=block)["a"].scores

    assert not np.array_equal(scores(0), scores(1))
    np.testing.assert_array_equal(scores(1), scores(1))


def test_a_reading_travels_with_the_trials():
    one = {"a": adversary(lambda view, rng: view, Reading(signed=True))}
    assert play(Blind(), one, seed=0, rounds=range(2), block=0)["a"].reading.signed


def test_scores_of_the_wrong_shape_are_refused():
    with pytest.raises(BadInput, match="shape"):
        play(Blind(), {"a": adversary(lambda view, rng: view[:, :1])}, seed=0, rounds=range(3), block=0)


def test_a_score_that_is_not_finite_is_named_by_its_round():
    rounds = np.array([6, 7])
    with pytest.raises(BadInput, match=r"round 7, target 0"):
        Trials(rounds, np.zeros(2, int), np.array([True, False]), np.array([0.0, np.nan]), Coins.FAIR)


class Meter:
    """Sees as many numbers as there are targets, and pays for them."""

    def __init__(self, block):
        self.numbers, self.paid = block, False


class Pays:
    def view(self, block):
        return Meter(block)

    def spent(self, seen):
        shape = seen.numbers.shape
        return {
            "obtained": np.full(shape, 0.5 if seen.paid else 0.0),
            "believed": np.full((shape[0], 1), 0.1),
        }


def pay(view, rng):
    view.paid = True
    return view.numbers


def test_what_an_adversary_spent_travels_with_its_trials():
    found = play(Blind(), {"a": Adversary(Pays(), Scorer(pay))}, seed=3, rounds=range(4), block=0)["a"]
    assert found.spent["obtained"].tolist() == [0.5] * 8  # counted after the questions, not before
    assert found.spent["believed"].tolist() == [0.1] * 8
    assert found.where(np.arange(8) < 2).spent["obtained"].size == 2
    assert play(Blind(), {"a": adversary(lambda view, rng: view)}, 3, range(4), 0)["a"].spent == {}


def test_spending_of_another_length_is_refused():
    with pytest.raises(BadInput, match="numbers of 'obtained'"):
        Trials(
            np.arange(2), np.zeros(2, int), np.ones(2, bool), np.zeros(2), Coins.FAIR,
            spent={"obtained": np.zeros(3)},
        )  # fmt: skip


class Fresh(Blind):
    """Each round has targets of its own, and the owner knows what its releases are good for."""

    fresh_targets = True

    def utility_of(self, block):
        return {"owner": block.mean(axis=1)}


def test_targets_of_one_round_only_are_not_numbered():
    found = play(Fresh(), {"a": adversary(lambda view, rng: view)}, seed=3, rounds=range(3), block=0)["a"]
    assert found.targets.tolist() == [0] * 6
    assert found.shared_rounds


def test_what_a_release_is_good_for_travels_with_the_trials_of_its_round():
    found = play(Fresh(), {"a": adversary(lambda view, rng: view)}, seed=3, rounds=range(3), block=0)["a"]
    np.testing.assert_allclose(found.utility["owner"], np.repeat(found.scores.reshape(3, 2).mean(axis=1), 2))
    assert found.where(found.rounds == 1).utility["owner"].size == 2
