"""Compares the transcripts of an oracle with its statement: noise, cache, accountant, budget and promise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.game import Transcript
from leakgauge.domains.queries import plan_tables
from leakgauge.domains.queries.guarantee import least_epsilon, oracle_guarantee
from leakgauge.domains.queries.oracle import ROUNDING, AnswerCache, OracleRules
from leakgauge.referee.conformance import Conformance


def compare_transcripts(
    transcripts: Sequence[Transcript], *, challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path
) -> Conformance:
    """Compare what one attacker was given in all blocks with the tables of a plan; no data are needed."""
    table = plan_tables.read_challenger_table(challenger)
    rules = plan_tables.read_oracle_rules(mechanism, table, folder)
    return _Comparison(transcripts, rules, table.promise).result


@dataclass(frozen=True, eq=False)
class _Comparison:
    """The transcripts of an attacker beside the rules that the oracle states."""

    transcripts: Sequence[Transcript]
    rules: OracleRules
    promise: float | None  # an epsilon that the owner has stated, where the rules give none

    @property
    def result(self) -> Conformance:
        redrawn = self._redrawn
        about_record = self._beyond("fresh_about_targets")
        certain = [] if about_record is None else [about_record, *redrawn]
        departures = [] if certain else [*self._beyond_accountant(), *redrawn]
        return Conformance(certain=tuple(certain), departures=tuple(departures))

    @cached_property
    def _allowed(self) -> float | None:
        """The epsilon that all answers about one record may reach together."""
        if self.rules.bounded:
            return self.rules.budget
        guarantee = oracle_guarantee(self.rules, self.promise)
        return None if guarantee is None else guarantee.epsilon

    def _beyond(self, column: str) -> str | None:
        """Say that answers cost more than allowed, however tightly they are composed."""
        if self._allowed is None:
            return None
        n_answers = self._most(column)
        delta = self.rules.noise.guarantee.delta
        spent = least_epsilon(self.rules.noise, n_answers, delta)
        if not spent > self._allowed * (1 + ROUNDING):
            return None
        at_delta = f" at delta = {delta:g}" if delta else ""
        said = "budget" if self.rules.bounded else "stated promise"
        whose = "about one record" if column == "fresh_about_targets" else "in all"
        return (
            f"In a single session {n_answers:,} different answers {whose} were given. However tightly they "
            f"are composed, they cost ε = {spent:.4g}{at_delta}, and the {said} is {self._allowed:g}."
        )

    def _beyond_accountant(self) -> list[str]:
        """An accountant that charges every answer must refuse, whomever the answers are about."""
        if self.rules.accountant != "sequential" or not self.rules.bounded:
            return []
        beyond = self._beyond("fresh_answers")
        return [] if beyond is None else [f"{beyond} The stated accountant charges every answer."]

    @property
    def _redrawn(self) -> list[str]:
        """A repeated question whose answer has new noise, though a cache is stated."""
        if self.rules.cache is AnswerCache.NONE:
            return []
        n_redrawn = sum(int(part["redrawn"].sum()) for part in self.transcripts)
        n_repeats = sum(int(part["repeats"].sum()) for part in self.transcripts)
        if not n_redrawn:
            return []
        text = (
            f"A repeated question got a different answer {n_redrawn:,} of {n_repeats:,} times, although the "
            f'service states a cache of answers (cache = "{self.rules.cache}").'
        )
        return [text]

    def _most(self, column: str) -> int:
        return max(int(np.max(part[column], initial=0)) for part in self.transcripts)
