"""Thin slices of the other kinds of release, to show that the roles of the game carry them."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Adversary, Bits, ChallengerDefaults, Coins, Reading, Reals, Scorer, play
from leakgauge.core.guarantee import Guarantee, Relation, Unit


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


class SeesAll:
    def view(self, block):
        return block


def test_an_oracle_is_a_release_that_answers_questions():
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


def test_a_federated_client_answers_a_crafted_model():
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


def test_a_model_with_given_coins_scores_every_record_of_one_round():
    records = np.concatenate([np.full(50, 1.0), np.full(50, -1.0)])
    game = ModelOfOneHospital(records, records > 0)
    near = Adversary(SeesAll(), Scorer(lambda model, rng: -np.abs(records[None, :] - model[:, None])))
    found = play(game, {"loss": near}, 3, range(1), 0)["loss"]
    assert found.coins is Coins.GIVEN
    assert len(found) == 100
    assert found.scores[found.members].min() > found.scores[~found.members].max()
