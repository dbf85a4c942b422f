"""Ask the same question about the target again and again, in the same words or in others, and average."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries.answer_scores import MidpointScore
from leakgauge.domains.queries.knowledge import KnownRecords
from leakgauge.domains.queries.query import Id
from leakgauge.domains.queries.query_splitting import (
    AskAndScore,
    SplitQuery,
    TargetQuestions,
    require_n_queries,
)
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal

_CASES = 127  # ways to write "and true" with a small letter somewhere


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Ask ``queries`` times for the target alone, and cut the mean answer midway between the two worlds.

    Needs no known record. In the "same" words it gains by repeating only where nothing is cached; "reworded"
    (blanks, case, AND TRUE, the order of conjuncts) a cache that compares texts gives new answers too, and
    only one that compares canonical forms does not. "equivalent" predicates differ in what they say, though
    not in whom they select: no parser sees that they are the same, and only the budget ends them.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known",)

    queries: int = 10
    wording: Literal["same", "reworded", "equivalent"] = "same"

    def __post_init__(self) -> None:
        require_n_queries(self.queries)

    def study(self, knowledge: KnownRecords, rng: Generator) -> Scorer[QueriesView]:
        known = np.zeros(self.queries)
        splits = [
            SplitQuery(
                tuple(knowledge.query.such_that(text) for text in self._texts(knowledge.id_column, one)),
                known,
            )
            for one in knowledge.targets
        ]
        decide = MidpointScore(knowledge.shifts, knowledge.query.sensitivity)
        return Scorer(
            AskAndScore(TargetQuestions(tuple(splits)), decide), Reading(threshold=0.0, signed=True)
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
    """The i-th of many texts that a parser takes for the same predicate, no two of them equal.

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
    """The i-th of many predicates that select the target alone but say something else.

    >>> equivalent("id", 7, 0), equivalent("id", "ann", 1)
    ('"id" = 7 AND "id" <> 8', '"id" = \\'ann\\' AND "id" <> \\'annxx\\'')
    """
    other: Id = target + "x" * (i + 1) if isinstance(target, str) else target + i + 1
    left = quote_identifier(column)
    return f"{left} = {quote_literal(target)} AND {left} <> {quote_literal(other)}"


def _cased(word: str, pattern: int) -> str:
    """Small letters where the pattern has a bit set, and a blank after the third."""
    letters = [letter.lower() if pattern >> i & 1 else letter for i, letter in enumerate(word)]
    return "".join(letters[:3]) + " " + "".join(letters[3:])
