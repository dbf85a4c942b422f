import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.blackbox.attacks import likelihood, one_threshold, two_threshold
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.domains.blackbox.knowledge import SimulatorKnowledge, build
from leakgauge.domains.blackbox.release import MechanismRelease
from leakgauge.mechanisms import exponential, gaussian, laplace, noisy_max, sparse_vector
from leakgauge.referee.metrics.epsilon_one_run import Metric

LAPLACE = laplace.Mechanism(scale=2.0)


def trials(attack, mechanism, low, high, rounds=20_000, seed=1):
    challenger = Challenger(
        MechanismRelease(mechanism), (np.asarray(low, float), np.asarray(high, float)), None
    )
    knowledge = build("law", {}, challenger, seed)
    adversary = Adversary(knowledge, attack.study(knowledge, stream(seed, Role.STUDY)))
    return play(challenger, {"it": adversary}, seed, range(rounds), 0)["it"]


def accuracy(block):
    return np.mean((block.scores >= block.reading.threshold) == block.members)


# Best accuracies on k cells of Laplace noise of scale 2 (convolution of privacy losses), and those of the
# simple rules (characteristic functions, binomials).
@pytest.mark.parametrize(
    ("attack", "k", "known"),
    [
        (likelihood.Attack(shadows=0), 1, 0.6106),
        (likelihood.Attack(shadows=0), 20, 0.8509),
        (likelihood.Attack(shadows=0), 60, 0.9639),
        (one_threshold.Attack(), 20, 0.7888),
        (one_threshold.Attack(), 60, 0.9150),
        (two_threshold.Attack(), 20, 0.8387),
        (two_threshold.Attack(), 60, 0.9580),
    ],
)
def test_accuracy_matches_theory(attack, k, known):
    error = 4 * np.sqrt(known * (1 - known) / 20_000)
    assert accuracy(trials(attack, LAPLACE, np.zeros(k), np.ones(k))) == pytest.approx(known, abs=error)


def test_guess_share_follows_from_distribution():
    played = trials(likelihood.Attack(), laplace.Mechanism(epsilon=1.0), 0.0, 1.0, rounds=10_000)
    assert played.reading.fraction == pytest.approx(0.5 + 0.5 / np.e, abs=0.15)
    assert 0.9 < Metric()(played).low < 1.05
    assert trials(likelihood.Attack(shadows=0), LAPLACE, 0, 1, rounds=10).reading.fraction is None


@pytest.mark.parametrize(
    ("mechanism", "low", "high"),
    [
        (gaussian.Mechanism(sigma=1.0, delta=1e-5), [0, 0], [1, 1]),
        (exponential.Mechanism(epsilon=4.0), [1, 0, 0], [0, 1, 0]),
        (noisy_max.Mechanism(epsilon=4.0), [1, 0, 0], [0, 1, 0]),
        (sparse_vector.Mechanism(epsilon=4.0, limit=2), [1, 0, 0, 1], [0, 1, 1, 0]),
    ],
    ids=lambda value: type(value).__module__.rpartition(".")[2],
)
def test_works_with_every_mechanism(mechanism, low, high):
    played = trials(likelihood.Attack(shadows=1_000), mechanism, low, high, rounds=2_000)
    assert played.scores[played.members].mean() > 0 > played.scores[~played.members].mean()


@pytest.mark.parametrize("module", [likelihood, one_threshold, two_threshold])
def test_requires_known_mechanism(module):
    assert module.Attack.accepts == ("law",)
    with pytest.raises(BadInput, match='needs knowledge = "law"'):
        module.Attack().study(SimulatorKnowledge(lambda x, rng: x, (0, 1), 0.0), stream(1, Role.STUDY))


@pytest.mark.parametrize("module", [one_threshold, two_threshold])
def test_threshold_rules_need_one_output_per_value(module):
    with pytest.raises(BadInput, match="one output per value"):
        trials(module.Attack(), noisy_max.Mechanism(epsilon=1.0), [1, 0, 0], [0, 1, 0])


def test_rejects_negative_number_of_shadows():
    with pytest.raises(BadInput, match="likelihood: shadows"):
        likelihood.Attack(shadows=-1)
