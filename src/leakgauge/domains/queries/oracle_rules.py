"""The rules of an oracle: its noise, accountant, answer cache and budget."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.accounting import find_accountant
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import ResolvedQuery
from leakgauge.mechanisms import opendp
from leakgauge.mechanisms._additive import AdditiveNoise


class AnswerCache(StrEnum):
    """How questions are compared; never by the records they select, for that would depend on the data.

    ``canonical`` knows a question by its condition in normal form: blanks, case, brackets, the order of parts
    and of values, double negation do not matter, and ids are a condition on their column. A rewording that
    it does not see through is a new question, and is charged as one.
    """

    NONE = "none"
    TEXT = "text"
    CANONICAL = "canonical"


def cache_key(cache: AnswerCache, asked: ResolvedQuery) -> Hashable | None:
    """What questions share that are the same to a cache; nothing if none ever are."""
    match cache:
        case AnswerCache.NONE:
            return None
        case AnswerCache.TEXT:
            return asked.query
        case AnswerCache.CANONICAL:
            query = asked.query
            return (query.kind, query.column, query.bound, asked.condition)


OracleNoise: TypeAlias = AdditiveNoise | opendp.Mechanism

MOST_ANSWERS = 1_000_000
ROUNDING = 1e-9  # ten answers at epsilon 0.3 cost no more than 3, whatever binary fractions say


@dataclass(frozen=True, kw_only=True)
class OracleRules:
    """How an oracle answers; every answer costs the same: noise grows with what one record can move."""

    noise: OracleNoise  # of an answer to a query with the noise's own sensitivity
    accountant: str = "sequential"
    cache: AnswerCache = AnswerCache.CANONICAL
    budget: float | None = None  # none: it never refuses

    def __post_init__(self) -> None:
        find_accountant(self.accountant)
        if self.budget is None:
            return
        if not 0 < self.budget < math.inf:
            raise BadInput(f"budget must be > 0 and finite, got {self.budget}; leave it out for no limit")
        if not self.budget <= MOST_ANSWERS * self.epsilon:
            raise BadInput(
                f"budget = {self.budget:g} pays for more than {MOST_ANSWERS} answers of epsilon "
                f"{self.epsilon:g} about one record; lower it, or leave it out for no limit"
            )
        if self.most_answers == 0:
            raise BadInput(
                f"budget = {self.budget:g} is less than the epsilon of one answer, {self.epsilon:g}, so that "
                "nothing would ever be answered; raise it, or lower mechanism.epsilon"
            )

    @cached_property
    def epsilon(self) -> float:
        """What the noise of one answer supports."""
        return self.noise.guarantee.epsilon

    @cached_property
    def most_answers(self) -> int | None:
        """How many answers about one record the budget pays for; nothing: as many as anybody likes."""
        if self.budget is None:
            return None
        return math.floor(self.budget / self.epsilon * (1 + ROUNDING))

    @property
    def bounded(self) -> bool:
        """Whether refusals bound what a record can lose."""
        return self.budget is not None and find_accountant(self.accountant).sound

    @property
    def whole(self) -> bool:
        """Whether the noise is for whole numbers only."""
        if isinstance(self.noise, opendp.Mechanism):
            return self.noise.carrier.whole
        return self.noise.lattice

    def noise_of(self, query: Query) -> OracleNoise:
        """The noise of an answer to a query."""
        return _noise_for_sensitivity(self.noise, query.sensitivity)


@lru_cache(maxsize=64)
def _noise_for_sensitivity(noise: OracleNoise, sensitivity: float) -> OracleNoise:
    """The same noise for queries that one record can move by ``sensitivity``; worked out once."""
    if isinstance(noise, opendp.Mechanism):
        if sensitivity == noise.sensitivity:
            return noise
        raise BadInput(
            f"mechanism 'opendp': its measurement is for queries that one record moves by "
            f"{noise.sensitivity:g}, got one that it moves by {sensitivity:g}; ask what the plan is about"
        )
    return noise.scaled_to(sensitivity, noise.noise_scale * sensitivity / noise.sensitivity)
