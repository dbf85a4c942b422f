"""An oracle over a table: each query gets one answer for every round of a block.

Its rules are its noise, accountant, answer cache and budget.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Protocol, TypeAlias

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals, Transcript
from leakgauge.domains.queries.accounting import Accountant, Ledger, find_accountant
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import OracleTable, ResolvedQuery
from leakgauge.domains.queries.transcript import TranscriptRecorder
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
    round: bool = False  # answers are published as whole numbers
    clamp: bool = False  # and never below zero

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

    @property
    def real_valued(self) -> bool:
        """Whether two answers with fresh noise are practically never equal."""
        return not (self.whole or self.round)

    def publish(self, noisy: Reals) -> Reals:
        """Return noisy answers as they are published."""
        rounded = np.rint(noisy) if self.round else noisy
        return np.maximum(rounded, 0.0) if self.clamp else rounded

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


class Oracle(Protocol):
    """Answers queries about the tables of a block of rounds, within its budget."""

    @property
    def n_rounds(self) -> int: ...

    def ask(self, query: Query) -> Reals:
        """Return one noisy answer for each round; NaN where it is refused."""
        ...


class AccountedOracle(Oracle, Protocol):
    """An oracle with its accounts, which depend on the data and are hidden from attackers."""

    @property
    def obtained(self) -> Reals:
        """Rounds x targets: epsilon of the answers whose queries contain a target, all added up."""
        ...

    @property
    def believed(self) -> dict[str, Reals]:
        """The cost of the answers of each round according to each accountant, by name."""
        ...

    def transcript(self) -> Transcript:
        """What was asked and answered, beside the true answers; empty where it is not kept."""
        ...


@dataclass(frozen=True, eq=False)
class _GivenAnswers:
    """Answers to a query, and the worlds in which it was answered."""

    answers: Reals
    worlds: Bits


class LocalOracle:
    """The oracle in this process, for all rounds of a block at once.

    Rounds with the same targets in the table are one world: accountants and caches treat them alike. Noise
    is drawn for every round. The seed alone decides the stream of noise; a query that is refused in all
    worlds draws nothing from it.
    """

    def __init__(self, table: OracleTable, rules: OracleRules, members: Bits, seed: int) -> None:
        self._table, self._rules, self._members = table, rules, members
        self._worlds, world_of = np.unique(members, axis=0, return_inverse=True)
        self._world_of = world_of.reshape(-1)
        self._account: Accountant = find_accountant(rules.accountant)(self._worlds)
        self._rng = np.random.default_rng(seed)
        self._given: dict[Hashable, _GivenAnswers] = {}
        self._ledger = Ledger(self._worlds, rules.epsilon)
        self._recorder = TranscriptRecorder(members, real_valued=rules.real_valued)

    @property
    def n_rounds(self) -> int:
        return len(self._members)

    def ask(self, query: Query) -> Reals:
        resolved = self._table.ask(query)
        key = cache_key(self._rules.cache, resolved)
        before = None if key is None else self._given.get(key)
        answers, answered = self._fresh(resolved, before)
        if key is not None:
            self._given[key] = _GivenAnswers(answers, answered)
        scale = self._rules.noise_of(query).noise_scale
        self._recorder.add(resolved, answers, key=key, scale=scale)
        return answers.copy()

    def _fresh(self, resolved: ResolvedQuery, before: _GivenAnswers | None) -> tuple[Reals, Bits]:
        """Answer in the worlds without an earlier answer, where the budget allows it."""
        new = np.ones(len(self._worlds), dtype=bool) if before is None else ~before.worlds
        if (most := self._rules.most_answers) is not None and new.any():
            new &= self._account.after(resolved) <= most
        old = np.full(self.n_rounds, np.nan) if before is None else before.answers
        if not new.any():
            return old, np.zeros_like(new) if before is None else before.worlds
        self._account.add(resolved, new)
        self._ledger.add(resolved, new)
        true = resolved.total + self._members @ resolved.shifts
        noisy = self._rules.publish(self._rules.noise_of(resolved.query).sample(true, self._rng))
        answers = np.where(new[self._world_of], noisy, old)
        return answers, new if before is None else new | before.worlds

    @property
    def obtained(self) -> Reals:
        return self._ledger.obtained[self._world_of]

    @property
    def believed(self) -> dict[str, Reals]:
        return {name: epsilon[self._world_of] for name, epsilon in self._ledger.believed.items()}

    def transcript(self) -> Transcript:
        return self._recorder.columns
