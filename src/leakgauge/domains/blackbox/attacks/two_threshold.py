"""Let each value vote for the nearer of its two true values, and take the majority."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.blackbox.knowledge import LawKnowledge
from leakgauge.strategies.threshold_rules import VoteRule


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Let every value that the target moves vote, and score by the majority (Liu et al. 2024).

    A tied vote scores zero: no evidence, and "member" if the attack must decide.
    """

    accepts: ClassVar[tuple[str, ...]] = ("law",)

    def study(self, knowledge: LawKnowledge, rng: Generator) -> Scorer[Sequence[Any]]:
        if not isinstance(knowledge, LawKnowledge):
            raise BadInput('two_threshold: needs knowledge = "law" of a named mechanism, for the true values')
        rule = VoteRule.between(knowledge.low, knowledge.high)
        return Scorer(VoteScorer(rule), Reading(threshold=0.0, signed=True))


@dataclass(frozen=True, eq=False)
class VoteScorer:
    """Scores a block by its votes."""

    rule: VoteRule

    def __call__(self, view: Sequence[Any], rng: Generator) -> Reals:
        return self.rule(view)[:, None]
