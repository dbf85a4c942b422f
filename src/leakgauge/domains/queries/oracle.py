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

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Transcript
from leakgauge.core.guarantee import Unit
from leakgauge.domains.queries.accounting import Accountant, Ledger, find_accountant
from leakgauge.domains.queries.query import WITH_COLUMN, Query, QueryKind
from leakgauge.domains.queries.records import OracleTable, ResolvedQuery
from leakgauge.domains.queries.transcript import TranscriptRecorder
from leakgauge.mechanisms import gaussian, geometric, laplace, opendp
from leakgauge.mechanisms._additive import AdditiveNoise, Norm

OracleNoise: TypeAlias = AdditiveNoise | opendp.Mechanism

MOST_ANSWERS = 1_000_000
MANY_ROUNDS = 64  # this many rounds do not get the same noise by chance
LEAST_NOISE = 0.5  # noise scale below which rounded noise is often zero
NOISE_SCALES = 20.0  # between the two worlds of a positive control
FAINT = 1e-6  # noise of the parts of an average in a positive control, in sensitivities
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


class SuppressBy(StrEnum):
    """Which number is compared with ``at_least``.

    ``records`` is the true number of selected records: whether an answer is given then depends on the data,
    which no noise protects. ``answer`` is the noisy count itself, after it was charged: this reveals no more
    than the noisy count would.
    """

    RECORDS = "records"
    ANSWER = "answer"


def cache_key(cache: AnswerCache, resolved: ResolvedQuery) -> Hashable | None:
    """Return the key by which a cache recognizes a query; nothing without a cache."""
    match cache:
        case AnswerCache.NONE:
            return None
        case AnswerCache.TEXT:
            return resolved.query
        case AnswerCache.CANONICAL:
            query = resolved.query
            groups = (query.group_by, query.groups, query.edges)
            return (query.kind, query.column, query.bound, groups, resolved.condition)


@dataclass(frozen=True, kw_only=True)
class OracleRules:
    """How an oracle answers. Noise grows with the sensitivity, so that every answer costs the same."""

    noise: OracleNoise  # of an answer to a query with the noise's own sensitivity
    accountant: str = "sequential"
    cache: AnswerCache = AnswerCache.CANONICAL
    budget: float | None = None  # none: nothing is refused
    delta: float | None = None  # at which the budget is composed tightly; none: epsilons are added up
    round: bool = False  # answers are published as whole numbers
    clamp: bool = False  # and never below zero
    at_least: int | None = None  # smaller counts are not answered
    suppress_by: SuppressBy = SuppressBy.RECORDS
    rows_per_person: int | None = None  # nothing: the noise protects single rows

    def __post_init__(self) -> None:
        find_accountant(self.accountant)
        if self.at_least is not None and not self.at_least >= 1:
            raise BadInput(f"at_least must be >= 1, got {self.at_least}; leave it out to answer small counts")
        if self.delta is not None:
            self._require_composition(self.delta)
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
        return None if self.budget is None else self.answers_within(self.budget)

    def answers_within(self, epsilon: float) -> int:
        """How many answers about one record cost at most this epsilon together."""
        added = math.floor(epsilon / self.epsilon * (1 + ROUNDING))
        return added if self.delta is None else max(added, self._most_composed(epsilon))

    @property
    def composed_at(self) -> float:
        """The delta at which answers are composed: the stated one, or that of the noise."""
        return self.noise.guarantee.delta if self.delta is None else self.delta

    def _most_composed(self, budget: float) -> int:
        """How many answers tight composition at the stated delta fits into the budget."""

        def fits(n_answers: int) -> bool:
            assert not isinstance(self.noise, opendp.Mechanism)
            spent = self.noise.epsilon_at([(self.noise.sensitivity, n_answers)], self.composed_at)
            return spent <= budget * (1 + ROUNDING)

        low, high = 0, 1
        while high <= MOST_ANSWERS and fits(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return min(low, MOST_ANSWERS)

    def _require_composition(self, delta: float) -> None:
        if not 0 < delta < 1:
            raise BadInput(f"delta must be in (0, 1), got {delta}; leave it out to add up epsilons")
        if isinstance(self.noise, opendp.Mechanism):
            raise BadInput("delta: a measurement of OpenDP has its own; leave it out")
        if delta < self.noise.guarantee.delta:
            raise BadInput(
                f"delta = {delta:g} is less than that of one answer, {self.noise.guarantee.delta:g}; raise it"
            )

    @property
    def unit(self) -> Unit:
        """Whom the noise protects."""
        return Unit.RECORD if self.rows_per_person is None else Unit.USER

    @property
    def bounded(self) -> bool:
        """Whether refusals bound the privacy loss of every record."""
        return (
            self.budget is not None
            and find_accountant(self.accountant).sound
            and not self.refuses_by_true_count
        )

    @property
    def refuses_by_true_count(self) -> bool:
        """Whether small counts are refused by the number of records, which reveals that number."""
        return self.at_least is not None and self.suppress_by is SuppressBy.RECORDS

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

    @property
    def rounds_never_equal(self) -> int | None:
        """How many rounds do not all draw the same whole number twice; nothing where noise may be zero."""
        scale = None if isinstance(self.noise, opendp.Mechanism) else self.noise.noise_scale
        return MANY_ROUNDS if scale is not None and scale >= LEAST_NOISE else None

    def has_additive_noise(self, query: Query) -> bool:
        """Whether answers are the truth plus noise, and none is withheld because of its noise."""
        return query.kind is not QueryKind.AVERAGE and (
            self.at_least is None or self.suppress_by is SuppressBy.RECORDS
        )

    def publish(self, noisy: Reals) -> Reals:
        """Return noisy answers as they are published."""
        rounded = np.rint(noisy) if self.round else noisy
        return np.maximum(rounded, 0.0) if self.clamp else rounded

    def noise_of(self, query: Query) -> OracleNoise:
        """Return the noise of an answer to a query; of an average, that of its sum."""
        if query.kind is QueryKind.AVERAGE:
            return _noise_of_part(self.noise, self.sensitivity_of(query))
        return _noise_for_sensitivity(self.noise, self.sensitivity_of(query))

    def sensitivity_of(self, query: Query) -> float:
        """How much one unit of privacy changes an answer: a row, or all rows of a person."""
        return query.sensitivity * (self.rows_per_person or 1)

    def count_noise_of(self, query: Query) -> OracleNoise:
        """Return the noise of the count by which the sum of an average is divided."""
        return _noise_of_part(self.noise, float(self.rows_per_person or 1))


@dataclass(frozen=True, kw_only=True)
class FaintNoiseRules(OracleRules):
    """The same rules, but answers carry noise far smaller than ``shift``: those of the positive control.

    Budget, accountant and cache count as before, by the epsilon of the noise that is left out.
    """

    shift: float  # what the target adds to an answer

    def noise_of(self, query: Query) -> OracleNoise:
        if query.kind is QueryKind.AVERAGE:
            return laplace.Mechanism(scale=query.sensitivity * FAINT)
        scale = abs(self.shift) / NOISE_SCALES
        if not isinstance(self.noise, opendp.Mechanism):
            return self.noise.scaled_to(self.noise.sensitivity, scale)
        return geometric.Mechanism(scale=scale) if self.whole else laplace.Mechanism(scale=scale)

    def count_noise_of(self, query: Query) -> OracleNoise:
        return laplace.Mechanism(scale=FAINT)


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


@lru_cache(maxsize=64)
def _noise_of_part(noise: OracleNoise, sensitivity: float) -> OracleNoise:
    """Return the noise of the sum or the count of an average, each of which gets half of the budget.

    Two answers with twice the Laplace noise, or with sqrt 2 times the Gaussian noise, reveal no more than one
    answer with that noise.
    """
    if not isinstance(noise, laplace.Mechanism | gaussian.Mechanism):
        raise BadInput("mechanism: an average takes laplace or gaussian noise; change one of the two")
    factor = 2.0 if noise.norm is Norm.L1 else math.sqrt(2.0)
    return noise.scaled_to(sensitivity, factor * noise.noise_scale * sensitivity / noise.sensitivity)


class Oracle(Protocol):
    """Answers queries about the tables of a block of rounds, within its budget."""

    @property
    def n_rounds(self) -> int: ...

    def ask(self, query: Query) -> Reals:
        """Return one noisy answer for each round, or rounds x groups; NaN where it is refused."""
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

    @property
    def reported(self) -> Reals | None:
        """What a service says it has spent in each round; None if it says nothing."""
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
        self._recorder = TranscriptRecorder(
            members, real_valued=rules.real_valued, rows_per_person=rules.rows_per_person
        )

    @property
    def n_rounds(self) -> int:
        return len(self._members)

    def ask(self, query: Query) -> Reals:
        resolved = self._table.ask(query)
        if self._rules.suppress_by is SuppressBy.ANSWER and query.kind in WITH_COLUMN:
            raise BadInput("only counts are answered where noisy counts are compared with at_least; ask one")
        key = cache_key(self._rules.cache, resolved)
        before = None if key is None else self._given.get(key)
        answers, answered = self._fresh(resolved, before)
        if key is not None:
            self._given[key] = _GivenAnswers(answers, answered)
        self._recorder.add(
            resolved,
            answers,
            key=key,
            scale=self._rules.noise_of(query).noise_scale,
            additive=self._rules.has_additive_noise(query),
        )
        return answers.copy()

    def _fresh(self, resolved: ResolvedQuery, before: _GivenAnswers | None) -> tuple[Reals, Bits]:
        """Answer in the worlds without an earlier answer, where the budget allows it."""
        new = self._large_enough(resolved)
        if before is not None:
            new &= ~before.worlds
        if (most := self._rules.most_answers) is not None and new.any():
            new &= self._account.after(resolved) <= most
        shape = (self.n_rounds, *resolved.total.shape)
        old = np.full(shape, np.nan) if before is None else before.answers
        if not new.any():
            return old, np.zeros_like(new) if before is None else before.worlds
        self._account.add(resolved, new)
        self._ledger.add(resolved, new)
        fresh = new[self._world_of].reshape(-1, *[1] * resolved.total.ndim)
        answers = np.where(fresh, self._noisy(resolved), old)
        return answers, new if before is None else new | before.worlds

    def _noisy(self, resolved: ResolvedQuery) -> Reals:
        """Return an answer for every round, without small counts where those are withheld."""
        rules, query = self._rules, resolved.query
        total = resolved.total + self._members @ resolved.shifts
        count = resolved.n_others + self._members @ resolved.n_targets
        noisy = rules.noise_of(query).sample(total, self._rng)
        if query.kind is QueryKind.AVERAGE:
            noisy = noisy / np.maximum(rules.count_noise_of(query).sample(count, self._rng), 1.0)
        noisy = rules.publish(noisy)
        if rules.at_least is None:
            return noisy
        compared = count if rules.suppress_by is SuppressBy.RECORDS else noisy
        return np.where(compared < rules.at_least, np.nan, noisy)

    def _large_enough(self, resolved: ResolvedQuery) -> Bits:
        """Return the worlds in which enough records are selected; a refusal of the others costs nothing."""
        if self._rules.at_least is None or self._rules.suppress_by is not SuppressBy.RECORDS:
            return np.ones(len(self._worlds), dtype=bool)
        n_selected = resolved.other_units.size + self._worlds @ resolved.targets.astype(np.int64)
        return np.asarray(n_selected >= self._rules.at_least)

    @property
    def obtained(self) -> Reals:
        return self._ledger.obtained[self._world_of]

    @property
    def believed(self) -> dict[str, Reals]:
        return {name: epsilon[self._world_of] for name, epsilon in self._ledger.believed.items()}

    def transcript(self) -> Transcript:
        return self._recorder.columns

    @property
    def reported(self) -> None:
        return None

    @property
    def recorded(self) -> Reals:
        """The cost of the answers of each round according to the accountant in charge."""
        return self._rules.epsilon * self._account.spent.astype(np.float64)[self._world_of]
