"""Query splitting (Huang et al.): one question asked many times, with the target and other known records."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.queries.answer_scores import ScoreAnswers
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.oracle import Oracle
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal

MOST_QUERIES = 100_000  # about each target


class SelectBy(StrEnum):
    """How a query selects records."""

    IDS = "ids"
    PREDICATE = "predicate"  # "id" IN (...)


@dataclass(frozen=True, eq=False)
class SplitQuery:
    """Queries about the target and disjoint sets of known records, and the contributions of the latter."""

    queries: tuple[Query, ...]
    known: Reals  # contribution of the known records to each query

    def ask(self, oracle: Oracle) -> Reals:
        """Return rounds x queries: the target's contribution plus noise; NaN where an answer is refused.

        Theorem 1 of Huang et al.: independent and identically distributed, whatever the sets.
        """
        answers = [oracle.ask(query) for query in self.queries]
        return np.column_stack(answers) - self.known


def split_query(known: KnownRecords, target: int, n_queries: int, by: SelectBy = SelectBy.IDS) -> SplitQuery:
    """Build ``n_queries`` queries, each about the target and one known record.

    The known records of one target differ; those of different targets differ while there are enough.
    Theorem 2 of Huang et al. requires more than ``n_queries`` known records; ``n_queries`` are enough.
    """
    if not n_queries >= 1:
        raise BadInput(f"queries must be >= 1, got {n_queries}")
    if len(known.ids) < n_queries:
        raise BadInput(
            f"queries = {n_queries}: needs as many known records that the query selects, but the attacker "
            f"knows {len(known.ids)}; {more_records_advice(known)}"
        )
    rows = (target * n_queries + np.arange(n_queries)) % len(known.ids)
    queries = tuple(_about(known, (known.ids[row], known.targets[target]), by) for row in rows)
    return SplitQuery(queries, known.values[rows])


def more_records_advice(known: KnownRecords) -> str:
    """Return the advice in errors about too few known records."""
    return f"lower queries, or {'widen challenger.query' if known.whole else 'raise knowledge.records'}"


def _about(known: KnownRecords, ids: tuple[Id, ...], by: SelectBy) -> Query:
    if by is SelectBy.IDS:
        return known.query.on(ids)
    return known.query.such_that(
        f"{quote_identifier(known.id_column)} IN ({', '.join(map(quote_literal, ids))})"
    )


@dataclass(frozen=True, eq=False)
class TargetQuestions:
    """The same number of queries about each target; query i of every target precedes query i + 1 of any.

    If the budget runs out, it therefore does so for all targets alike.
    """

    splits: tuple[SplitQuery, ...]  # one for each target

    @classmethod
    def about_all(cls, knowledge: KnownRecords, n_queries: int, by: SelectBy) -> "TargetQuestions":
        """Split the query for each target."""
        targets = range(len(knowledge.targets))
        return cls(tuple(split_query(knowledge, target, n_queries, by) for target in targets))

    def ask(self, oracle: Oracle) -> Reals:
        """Return rounds x targets x queries: contribution of a present target plus noise; NaN if refused."""
        n = len(self.splits[0].queries)
        samples = np.empty((len(self.splits), n, oracle.n_rounds))  # the rounds of one answer are contiguous
        for i in range(n):
            for target, split in enumerate(self.splits):
                samples[target, i] = oracle.ask(split.queries[i]) - split.known[i]
        return samples.transpose(2, 0, 1)


@dataclass(frozen=True, eq=False)
class AskAndScore:
    """Scores a block: asks a fresh oracle, and computes scores from the answers."""

    questions: TargetQuestions
    decide: ScoreAnswers

    def __call__(self, view: QueriesView, rng: Generator) -> Reals:
        return self.decide(self.questions.ask(view.oracle()))


def require_enough_records(knowledge: KnownRecords, n_queries: int) -> None:
    """Refuse attacks by refusals if a known record occurs in two queries and could cause the refusal."""
    needed = n_queries * len(knowledge.targets)
    if len(knowledge.ids) < needed:
        raise BadInput(
            f"queries = {n_queries}: refusals identify targets only if every query has its own known record, "
            f"which takes {needed} records, but the attacker knows {len(knowledge.ids)}; "
            + more_records_advice(knowledge)
        )


def require_n_queries(n_queries: int, least: int = 1) -> None:
    """Refuse a number of queries that is out of range."""
    if not least <= n_queries <= MOST_QUERIES:
        raise BadInput(f"queries must be in {least}..{MOST_QUERIES}, got {n_queries}")
