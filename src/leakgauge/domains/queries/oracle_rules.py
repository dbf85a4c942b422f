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
from leakgauge.mechanisms import geometric, laplace, opendp
from leakgauge.mechanisms._additive import AdditiveNoise

OracleNoise: TypeAlias = AdditiveNoise | opendp.Mechanism

MOST_ANSWERS = 1_000_000
NOISE_SCALES = 20.0  # between the two worlds of a positive control
ROUNDING = 1e-9  # so that a budget of 3 pays for ten answers at epsilon 0.3 in floating point


class AnswerCache(StrEnum):
    """How queries are compared; never by the records they select, which would depend on the data.

    ``canonical`` compares conditions in normal form: blanks, case, brackets, the order of parts and values,
    and double negation do not matter, and ids are a condition on their column. A rewording that the normal
    form does not remove is a new query, and is charged as one.
    """

    NONE = "none"
    TEXT = "text"
    CANONICAL = "canonical"


def cache_key(cache: AnswerCache, resolved: ResolvedQuery) -> Hashable | None:
    """Return the key by which a cache recognizes a query; nothing without a cache."""
    match cache:
        case AnswerCache.NONE:
            return None
        case AnswerCache.TEXT:
            return resolved.query
        case AnswerCache.CANONICAL:
            query = resolved.query
            return (query.kind, query.column, query.bound, resolved.condition)


@dataclass(frozen=True, kw_only=True)
class OracleRules:
    """How an oracle answers. Noise grows with the sensitivity, so that every answer costs the same."""

    noise: OracleNoise  # of an answer to a query with the noise's own sensitivity
    accountant: str = "sequential"
    cache: AnswerCache = AnswerCache.CANONICAL
    budget: float | None = None  # none: nothing is refused

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
        """The epsilon of one answer."""
        return self.noise.guarantee.epsilon

    @cached_property
    def most_answers(self) -> int | None:
        """How many answers about one record the budget pays for; nothing without a budget."""
        if self.budget is None:
            return None
        return math.floor(self.budget / self.epsilon * (1 + ROUNDING))

    @property
    def bounded(self) -> bool:
        """Whether refusals bound the privacy loss of every record."""
        return self.budget is not None and find_accountant(self.accountant).sound

    @property
    def whole(self) -> bool:
        """Whether the noise is for whole numbers only."""
        if isinstance(self.noise, opendp.Mechanism):
            return self.noise.carrier.whole
        return self.noise.lattice

    def noise_of(self, query: Query) -> OracleNoise:
        """Return the noise of an answer to a query."""
        return _noise_for_sensitivity(self.noise, query.sensitivity)


@dataclass(frozen=True, kw_only=True)
class FaintNoiseRules(OracleRules):
    """The same rules, but answers carry noise far smaller than ``shift``: those of the positive control.

    Budget, accountant and cache count as before, by the epsilon of the noise that is left out.
    """

    shift: float  # what the target adds to an answer

    def noise_of(self, query: Query) -> OracleNoise:
        scale = abs(self.shift) / NOISE_SCALES
        if not isinstance(self.noise, opendp.Mechanism):
            return self.noise.scaled_to(self.noise.sensitivity, scale)
        return geometric.Mechanism(scale=scale) if self.whole else laplace.Mechanism(scale=scale)


@lru_cache(maxsize=64)
def _noise_for_sensitivity(noise: OracleNoise, sensitivity: float) -> OracleNoise:
    """Return the same noise scaled to another sensitivity."""
    if isinstance(noise, opendp.Mechanism):
        if sensitivity == noise.sensitivity:
            return noise
        raise BadInput(
            f"mechanism 'opendp': its measurement is for queries of sensitivity "
            f"{noise.sensitivity:g}, got {sensitivity:g}; ask the query of the plan"
        )
    return noise.scaled_to(sensitivity, noise.noise_scale * sensitivity / noise.sensitivity)
