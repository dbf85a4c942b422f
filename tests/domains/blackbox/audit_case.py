"""A whole audit of one case, from study to bound, without a run folder."""

import numpy as np

from domains.blackbox.mechanisms_under_test import Case
from leakgauge.core.game import Adversary, Trials, play
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.blackbox.attacks.learned_event import Attack
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.domains.blackbox.knowledge import SimulatorKnowledge, build
from leakgauge.referee.metrics.epsilon_one_run import Metric


def challenger_of(case: Case) -> Challenger:
    return Challenger(case.release, case.pair, Guarantee(epsilon=case.epsilon, delta=case.delta))


def studied(case: Case, shadows: int, seed: int) -> Adversary:
    knowledge = build("simulator", {}, challenger_of(case), seed)
    assert isinstance(knowledge, SimulatorKnowledge)
    return Adversary(knowledge, Attack(shadows=shadows).study(knowledge, stream(seed, Role.STUDY)))


def played(case: Case, adversary: Adversary, rounds: int, seed: int, block: int = 0) -> Trials:
    return play(challenger_of(case), {"it": adversary}, seed, range(rounds), block)["it"]


def bound(case: Case, *, rounds: int, shadows: int, seed: int, confidence: float = 0.95) -> float:
    """Audit a case and return its bound on epsilon."""
    trials = played(case, studied(case, shadows, seed), rounds, seed)
    assert np.isfinite(trials.scores).all()
    return Metric(delta=case.delta, confidence=confidence)(trials).low
