"""What an attacker of a black box may know; attacks get nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.domains.blackbox import DOMAIN
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.domains.blackbox.own_law import LogProbability, OwnLogRatio
from leakgauge.domains.blackbox.release import MechanismRelease, ReleaseFunction, run_release
from leakgauge.strategies.likelihood_ratio import LogLikelihoodRatio
from leakgauge.support.table_reader import require_known

LogRatio: TypeAlias = Callable[[Sequence[Any]], Reals]


@dataclass(frozen=True, eq=False)
class SimulatorKnowledge:
    """Can run the release on both inputs itself, as often as it likes; sees the output of each round."""

    function: ReleaseFunction
    pair: tuple[Any, Any]
    delta: float  # of the promise, which is public; 0 where nothing was promised

    def simulate(self, members: Bits, rng: Generator) -> list[Any]:
        """Simulate outputs, for the input with the target where ``members`` is true."""
        return run_release(self.function, self.pair, members, rng)

    def view(self, block: Sequence[Any]) -> Sequence[Any]:
        return block


@dataclass(frozen=True, eq=False)
class LawKnowledge:
    """Knows the noise distribution and the true values in both worlds; sees the output of each round."""

    mechanism: Mechanism
    low: Reals  # without the target
    high: Reals  # with the target
    delta: float  # of the promise

    def simulate(self, members: Bits, rng: Generator) -> list[Any]:
        """Simulate outputs by drawing from the noise distribution."""
        return run_release(MechanismRelease(self.mechanism), (self.low, self.high), members, rng)

    def log_ratio(self) -> LogRatio:
        """Return the log-likelihood ratio of outputs, by the noise distribution."""
        return LogLikelihoodRatio(self.mechanism.log_law, self.low, self.high)

    def view(self, block: Sequence[Any]) -> Sequence[Any]:
        return block


@dataclass(frozen=True, eq=False)
class OwnLawKnowledge(SimulatorKnowledge):
    """Can run a release, and knows the noise distribution that its owner states."""

    law: LogProbability

    def log_ratio(self) -> LogRatio:
        """Return the log-likelihood ratio of outputs, by the stated distribution."""
        return OwnLogRatio(self.law, self.pair)


def build(
    name: str,
    parameters: dict[str, Any],
    challenger: Challenger,
    seed: int,  # noqa: ARG001 (nothing here is drawn)
) -> SimulatorKnowledge | LawKnowledge | OwnLawKnowledge:
    """Build what an attacker may know of a challenger."""
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    if parameters:
        raise BadInput(f"knowledge {name!r}: has no parameters, got {sorted(parameters)}; leave them out")
    delta = challenger.guarantee.delta if challenger.guarantee else 0.0
    if name == "simulator":
        return SimulatorKnowledge(challenger.function, challenger.pair, delta)
    if challenger.law is not None:
        return OwnLawKnowledge(challenger.function, challenger.pair, delta, challenger.law)
    if challenger.mechanism is None:
        raise BadInput(
            "knowledge 'law': the noise distribution of your own release is not known; state it "
            '(mechanism.law = "module:function"), name a mechanism, or use knowledge = "simulator"'
        )
    low, high = (np.asarray(values, dtype=np.float64) for values in challenger.pair)
    return LawKnowledge(challenger.mechanism, low, high, delta)
