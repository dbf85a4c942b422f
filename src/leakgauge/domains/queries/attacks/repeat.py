"""Repeat one query about the target, with the same or another wording, and average the answers."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.query import Id
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal

_CASES = 127  # ways to write "ANDTRUE" with at least one lower-case letter


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Query the target alone ``queries`` times; the threshold is midway between the two true means.

    Needs no known record. The "same" wording gains only where nothing is cached. "reworded" predicates
    (blanks, case, AND TRUE, the order of conjuncts) get fresh answers from a cache that compares texts, but
    not from one that compares canonical forms. "equivalent" predicates are different conditions that select
    the same record: no parser recognizes them as equal, and only the budget limits them.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 10
    wording: Literal["same", "reworded", "equivalent"] = "same"

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries)

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        known = np.zeros(self.queries)
        splits = [
            query_splitting.SplitQuery(
                tuple(knowledge.query.such_that(text) for text in self._texts(knowledge.id_column, target)),
                known,
            )
            for target in knowledge.targets
        ]
        decide = query_splitting.MidpointScore(knowledge.shifts, knowledge.query.sensitivity)
        return Scorer(
            query_splitting.AskAndScore(query_splitting.TargetQuestions(tuple(splits)), decide),
            Reading(threshold=0.0, signed=True),
        )

    def _texts(self, column: str, target: Id) -> list[str]:
        match self.wording:
            case "same":
                return [f"{quote_identifier(column)} = {quote_literal(target)}"] * self.queries
            case "reworded":
                return [reworded(column, target, i) for i in range(self.queries)]
            case "equivalent":
                return [equivalent(column, target, i) for i in range(self.queries)]
            case _:
                raise BadInput(f"no wording is called {self.wording!r}; known: same, reworded, equivalent")


def reworded(column: str, target: Id, i: int) -> str:
    """Return the i-th of many different texts of the same predicate.

    >>> [reworded("id", 7, i) for i in range(4)]
    ['"id" = 7', '"id" = 7 AND TRUE', 'TRUE AND "id" = 7', '"id" = 7 aND TRUE']
    """
    left, right = quote_identifier(column), quote_literal(target)
    way, more = i % 4, i // 4
    match way:
        case 0:
            return f"{left} = {' ' * more}{right}"
        case 1:
            return f"{left} = {right}{' AND TRUE' * (more + 1)}"
        case 2:
            return f"{'TRUE AND ' * (more + 1)}{left} = {right}"
        case _:
            return f"{left} = {right} {' ' * (more // _CASES)}{_cased('ANDTRUE', more % _CASES + 1)}"


def equivalent(column: str, target: Id, i: int) -> str:
    """Return the i-th of many different predicates that select only the target.

    >>> equivalent("id", 7, 0), equivalent("id", "ann", 1)
    ('"id" = 7 AND "id" <> 8', '"id" = \\'ann\\' AND "id" <> \\'annxx\\'')
    """
    other: Id = target + "x" * (i + 1) if isinstance(target, str) else target + i + 1
    left = quote_identifier(column)
    return f"{left} = {quote_literal(target)} AND {left} <> {quote_literal(other)}"


def _cased(word: str, pattern: int) -> str:
    """Lower the letters where the pattern has a bit set, and insert a blank after the third."""
    letters = [letter.lower() if pattern >> i & 1 else letter for i, letter in enumerate(word)]
    return "".join(letters[:3]) + " " + "".join(letters[3:])
