"""An oracle over a table: one query at a time, an answer for every round of a block."""

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
    """Answers queries about the tables of a block of rounds, until it refuses."""

    @property
    def n_rounds(self) -> int: ...

    def ask(self, query: Query) -> Reals:
        """One noisy answer for each round; NaN where it is refused."""
        ...


class AccountedOracle(Oracle, Protocol):
    """An oracle with its accounts; they depend on who is in the table, and are not for attackers."""

    @property
    def obtained(self) -> Reals:
        """Rounds x targets: epsilon of the answers whose queries contain a target, all added up."""
        ...

    @property
    def believed(self) -> dict[str, Reals]:
        """What each accountant would say that the answers of each round have cost, by its name."""
        ...


@dataclass(frozen=True, eq=False)
class _GivenAnswers:
    """Answers to a question, and the worlds in which it was answered."""

    answers: Reals
    worlds: Bits


class LocalOracle:
    """The oracle in this process, for all rounds of a block at once.

    Rounds with the same targets in the table are one world to accountants and caches: there, the same is
    refused and the same is repeated. Noise is drawn for every round. One seed gives one stream of noise,
    whoever asks; a question that is answered in no world draws none of it.
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
        asked = self._table.ask(query)
        key = cache_key(self._rules.cache, asked)
        before = None if key is None else self._given.get(key)
        answers, answered = self._fresh(asked, before)
        if key is not None:
            self._given[key] = _GivenAnswers(answers, answered)
        return answers.copy()

    def _fresh(self, asked: ResolvedQuery, before: _GivenAnswers | None) -> tuple[Reals, Bits]:
        """Answer where nothing was answered before, and the budget allows it."""
        new = np.ones(len(self._worlds), dtype=bool) if before is None else ~before.worlds
        if (most := self._rules.most_answers) is not None and new.any():
            new &= self._account.after(asked) <= most
        old = np.full(self.n_rounds, np.nan) if before is None else before.answers
        if not new.any():
            return old, np.zeros_like(new) if before is None else before.worlds
        self._account.add(asked, new)
        self._ledger.add(asked, new)
        true = asked.total + self._members @ asked.shifts
        noisy = self._rules.noise_of(asked.query).sample(true, self._rng)
        answers = np.where(new[self._world_of], noisy, old)
        return answers, new if before is None else new | before.worlds

    @property
    def obtained(self) -> Reals:
        return self._ledger.obtained[self._world_of]

    @property
    def believed(self) -> dict[str, Reals]:
        return {name: epsilon[self._world_of] for name, epsilon in self._ledger.believed.items()}
