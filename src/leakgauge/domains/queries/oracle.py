"""An oracle over a table: each query gets one answer for every round of a block."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.accounting import Accountant, Ledger, find_accountant
from leakgauge.domains.queries.oracle_rules import OracleRules, cache_key
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import OracleTable, ResolvedQuery


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
        noisy = self._rules.noise_of(resolved.query).sample(true, self._rng)
        answers = np.where(new[self._world_of], noisy, old)
        return answers, new if before is None else new | before.worlds

    @property
    def obtained(self) -> Reals:
        return self._ledger.obtained[self._world_of]

    @property
    def believed(self) -> dict[str, Reals]:
        return {name: epsilon[self._world_of] for name, epsilon in self._ledger.believed.items()}
