"""The oracle of a service: a round of the service for every round of a block."""

import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.asked import Asked, Table
from leakgauge.domains.queries.caches import same
from leakgauge.domains.queries.ledger import Ledger
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.remote.adapter import Adapter
from leakgauge.domains.queries.remote.questions import words_of
from leakgauge.domains.queries.remote.templates import Words
from leakgauge.domains.queries.rules import Rules

MANY = 64  # rounds that cannot all have the same noise by chance
LEAST_NOISE = 0.5  # below that, whole numbers may well have none


class HttpOracle:
    """Asks a service over HTTP; what its answers cost is counted here, from what was asked and answered.

    Rounds are opened by the first question. An answer that repeats an earlier one, as the stated cache
    has it, costs nothing; if it differs, it is a fresh one, whatever was stated.
    """

    def __init__(self, adapter: Adapter, table: Table, rules: Rules, members: Bits, seeds: list[int]) -> None:
        self._adapter, self._table, self._rules = adapter, table, rules
        self._members, self._seeds = members, seeds
        self._ledger = Ledger(members, rules.epsilon)
        self._given: dict[Hashable, Reals] = {}

    @property
    def n_rounds(self) -> int:
        return len(self._members)

    def ask(self, query: Query) -> Reals:
        asked = self._table.ask(query)
        question = words_of(query, self._adapter.service, self._table.records.id_column)
        answers = self._adapter.ask(self._rounds, question)
        self._require_noise(answers, query)
        answered = ~np.isnan(answers)
        self._ledger.add(asked, answered & ~self._repeated(asked, answers))
        return answers

    @property
    def obtained(self) -> Reals:
        return self._ledger.obtained

    @property
    def believed(self) -> dict[str, Reals]:
        return self._ledger.believed

    @cached_property
    def _rounds(self) -> list[Words]:
        rounds = self._adapter.open([self._words(i) for i in range(self.n_rounds)])
        weakref.finalize(self, self._adapter.finish, rounds).atexit = False
        return rounds

    def _words(self, i: int) -> Words:
        """Who is in the table of a round, in the words of a template."""
        ids = self._table.records.ids
        there = dict(zip((ids[row] for row in self._table.targets.tolist()), self._members[i].tolist()))
        single = len(there) == 1
        return {
            "absent": [name for name, present in there.items() if not present],
            "present": [name for name, present in there.items() if present],
            "world": self._adapter.service.worlds[int(self._members[i, 0])] if single else None,
            "seed": self._seeds[i],
        }

    def _repeated(self, asked: Asked, answers: Reals) -> Bits:
        """Where an answer is one that was given before to the same question."""
        key = same(self._rules.cache, asked)
        if key is None:
            return np.zeros(self.n_rounds, dtype=bool)
        before = self._given.get(key, np.full(self.n_rounds, np.nan))
        self._given[key] = np.where(np.isnan(answers), before, answers)
        return answers == before

    def _require_noise(self, answers: Reals, query: Query) -> None:
        """Refuse answers without noise of their own: rounds that share it are one, counted many times."""
        scale = getattr(self._rules.noise_of(query), "noise_scale", None)
        if scale is None or not scale >= LEAST_NOISE:
            return
        for world in np.unique(self._members, axis=0):
            there = answers[(self._members == world).all(axis=1)]
            there = there[~np.isnan(there)]
            if there.size >= MANY and (there == there[0]).all():
                raise BadInput(
                    f"challenger.service: {there.size} rounds got the same answer to a question, which the "
                    "stated noise does not do: rounds must not share answers; give each a cache of its own, "
                    "or none"
                )


@dataclass(frozen=True, eq=False)
class RemotePlayed:
    """The oracles of a block at a service: who is in the table of each round, and numbers for their seeds."""

    adapter: Adapter
    table: Table
    rules: Rules
    members: Bits
    seeds: list[int]

    def oracle(self) -> HttpOracle:
        """A fresh oracle with rounds of its own, to which nobody has put a question."""
        return HttpOracle(self.adapter, self.table, self.rules, self.members, self.seeds)
