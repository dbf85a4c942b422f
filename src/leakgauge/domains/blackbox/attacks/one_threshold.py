"""Compare the sum of all values with the true sums without and with the target."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.blackbox.knowledge import LawKnowledge
from leakgauge.strategies.threshold_rules import SumRule


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score an output by how far its sum lies beyond the middle of the two true sums (Liu et al. 2024)."""

    accepts: ClassVar[tuple[str, ...]] = ("law",)

    def study(self, knowledge: LawKnowledge, rng: Generator) -> Scorer[Sequence[Any]]:
        if not isinstance(knowledge, LawKnowledge):
            raise BadInput('one_threshold: needs knowledge = "law" of a named mechanism, for the true values')
        rule = SumRule.between(knowledge.low, knowledge.high)
        return Scorer(SumScorer(rule), Reading(threshold=0.0, signed=True))


@dataclass(frozen=True, eq=False)
class SumScorer:
    """Scores a block by its sums."""

    rule: SumRule

    def __call__(self, view: Sequence[Any], rng: Generator) -> Reals:
        return self.rule(view)[:, None]
