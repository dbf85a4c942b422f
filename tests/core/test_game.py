from dataclasses import dataclass

import numpy as np
import pytest
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, ChallengerDefaults, Coins, Reading, Scorer, Trials, play
from leakgauge.core.guarantee import Guarantee, Relation, Unit


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


def test_adversaries_of_a_block_share_bits_and_releases():
    both = {"a": adversary(lambda view, rng: view), "b": adversary(lambda view, rng: -view)}
    found = play(Blind(), both, seed=3, rounds=range(40, 50), block=4)
    np.testing.assert_array_equal(found["a"].members, found["b"].members)
    np.testing.assert_array_equal(found["a"].scores, -found["b"].scores)


def test_trials_are_numbered_by_round_and_target():
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


def test_trials_carry_the_reading():
    one = {"a": adversary(lambda view, rng: view, Reading(signed=True))}
    assert play(Blind(), one, seed=0, rounds=range(2), block=0)["a"].reading.signed


def test_rejects_scores_of_wrong_shape():
    with pytest.raises(BadInput, match="shape"):
        play(Blind(), {"a": adversary(lambda view, rng: view[:, :1])}, seed=0, rounds=range(3), block=0)


def test_non_finite_score_is_reported_with_its_round():
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


def test_trials_carry_spending():
    found = play(Blind(), {"a": Adversary(Pays(), Scorer(pay))}, seed=3, rounds=range(4), block=0)["a"]
    assert found.spent["obtained"].tolist() == [0.5] * 8  # counted after the questions, not before
    assert found.spent["believed"].tolist() == [0.1] * 8
    assert found.where(np.arange(8) < 2).spent["obtained"].size == 2
    assert play(Blind(), {"a": adversary(lambda view, rng: view)}, 3, range(4), 0)["a"].spent == {}


def test_rejects_spending_of_another_length():
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


def test_fresh_targets_are_not_numbered():
    found = play(Fresh(), {"a": adversary(lambda view, rng: view)}, seed=3, rounds=range(3), block=0)["a"]
    assert found.targets.tolist() == [0] * 6
    assert found.shared_rounds


def test_trials_carry_utility():
    found = play(Fresh(), {"a": adversary(lambda view, rng: view)}, seed=3, rounds=range(3), block=0)["a"]
    np.testing.assert_allclose(found.utility["owner"], np.repeat(found.scores.reshape(3, 2).mean(axis=1), 2))
    assert found.where(found.rounds == 1).utility["owner"].size == 2


# Thin slices of the other kinds of release, to show that the roles of the game carry them.


@dataclass(frozen=True, eq=False)
class Oracles:
    """A block of noisy counting services, one per round: each answers few questions, with its own noise.

    It is a value: asking changes nothing that another attacker could see.
    """

    present: Bits
    noise: Reals  # rounds x questions, drawn with the release, so every attacker faces the same answers
    limit: int

    def ask(self, question: int) -> Reals:
        assert question < self.limit, "budget spent"
        return self.present + self.noise[:, question]


@dataclass(frozen=True)
class QueryService(ChallengerDefaults):
    questions: int
    epsilon: float
    n_targets, coins = 1, Coins.FAIR

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.questions * self.epsilon, nominal_epsilon=self.epsilon)

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, 1)) < 0.5

    def release(self, members: Bits, rng: Generator) -> Oracles:
        noise = rng.laplace(scale=1 / self.epsilon, size=(len(members), self.questions))
        return Oracles(members[:, 0], noise, self.questions)


def test_oracle_release_can_be_played():
    def average(view: Oracles, rng: Generator) -> Reals:
        return np.mean([view.ask(q) for q in range(view.limit)], axis=0)[:, None] - 0.5

    asks_all = Adversary(SeesAll(), Scorer(average, Reading(signed=True)))
    found = play(QueryService(20, 1.0), {"split": asks_all, "again": asks_all}, 1, range(400), 0)
    np.testing.assert_array_equal(found["split"].scores, found["again"].scores)
    assert np.mean((found["split"].scores > 0) == found["split"].members) > 0.85


@dataclass(frozen=True, eq=False)
class Clients:
    """A block of federated clients: each answers a crafted neuron with its gradient, on perturbed rows."""

    rows: Reals  # rounds x batch x features, already perturbed on the client

    def gradient(self, weights: Reals, bias: float) -> Reals:
        active = np.maximum(self.rows @ weights + bias, 0) > 0
        return np.einsum("rb,rbf->rf", active.astype(float), self.rows)


@dataclass(frozen=True, eq=False)
class FederatedClient(ChallengerDefaults):
    target: Reals
    batch: int
    n_targets, coins = 1, Coins.FAIR
    guarantee = Guarantee(epsilon=2207.0, nominal_epsilon=1.0, unit=Unit.CLIENT)

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, 1)) < 0.5

    def release(self, members: Bits, rng: Generator) -> Clients:
        rows = rng.normal(size=(len(members), self.batch, self.target.size))
        rows[members[:, 0], 0] = self.target
        return Clients(rows + rng.laplace(scale=0.1, size=rows.shape))


def test_federated_client_can_be_played():
    target = np.full(64, 0.9)

    def crafted(view: Clients, rng: Generator) -> Reals:
        return np.abs(view.gradient(target, -0.5 * float(target @ target))).sum(axis=1, keepdims=True)

    adversary = Adversary(SeesAll(), Scorer(crafted, Reading(threshold=1e-9)))
    found = play(FederatedClient(target, 8), {"neuron": adversary}, 2, range(100), 0)["neuron"]
    assert np.mean((found.scores > 0) == found.members) > 0.95


@dataclass(frozen=True, eq=False)
class ModelOfOneHospital(ChallengerDefaults):
    """One trained model, many records; who was in is given by the data, not flipped."""

    records: Reals
    trained_on: Bits
    coins = Coins.GIVEN
    guarantee = Guarantee(epsilon=1.0, relation=Relation.REPLACE_ONE)

    @property
    def n_targets(self) -> int:
        return len(self.records)

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return np.broadcast_to(self.trained_on, (n_rounds, self.n_targets))

    def release(self, members: Bits, rng: Generator) -> Reals:
        means = np.array([self.records[row].mean() for row in members])
        return means + rng.laplace(scale=0.05, size=len(members))


def test_model_with_given_membership_scores_all_records():
    records = np.concatenate([np.full(50, 1.0), np.full(50, -1.0)])
    game = ModelOfOneHospital(records, records > 0)
    near = Adversary(SeesAll(), Scorer(lambda model, rng: -np.abs(records[None, :] - model[:, None])))
    found = play(game, {"loss": near}, 3, range(1), 0)["loss"]
    assert found.coins is Coins.GIVEN
    assert len(found) == 100
    assert found.scores[found.members].min() > found.scores[~found.members].max()
