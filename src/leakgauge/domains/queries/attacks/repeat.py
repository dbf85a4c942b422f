"""Repeat one query about the target, with the same or another wording, and average the answers."""

import datetime
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.queries import query_splitting
from leakgauge.domains.queries.attributes import largest_value
from leakgauge.domains.queries.knowledge import KnownAttributes, KnownRecords, OracleKnowledge
from leakgauge.domains.queries.question_scores import midpoint_score
from leakgauge.domains.queries.release import QueriesView
from leakgauge.domains.queries.sql.conditions import Value, quote_identifier, quote_literal
from leakgauge.domains.queries.target_questions import require_within_promise, single_questions

_CASES = 127  # ways to write "ANDTRUE" with at least one lower-case letter


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Query the target alone ``queries`` times; the threshold is midway between the two true means.

    Needs no known record, unless the service requires a smallest count. The "same" wording gains only where
    nothing is cached. "reworded" predicates (blanks, case, AND TRUE, the order of conjuncts) get fresh
    answers from a cache that compares texts, but not from one that compares canonical forms. "equivalent"
    predicates are different conditions that select the same record: no parser recognizes them as equal, and
    only the budget limits them.
    """

    accepts: ClassVar[tuple[str, ...]] = ("known", "attributes")

    queries: int = 10
    wording: Literal["same", "reworded", "equivalent"] = "same"

    def __post_init__(self) -> None:
        query_splitting.require_n_queries(self.queries)

    def study(self, knowledge: OracleKnowledge, rng: Generator) -> Scorer[QueriesView]:
        require_within_promise(knowledge, self.queries)
        asked = single_questions(knowledge)
        never = unused_value(knowledge) if self.wording == "equivalent" else ("", 0)
        splits = tuple(self._repeated(split, never) for split in asked.questions.splits)
        questions = query_splitting.TargetQuestions(splits)
        decide = midpoint_score(knowledge, questions)
        return Scorer(
            query_splitting.AskAndScore(questions, decide),
            Reading(threshold=0.0, signed=True, event=asked.event, studied=asked.studied),
        )

    def _repeated(
        self, split: query_splitting.SplitQuery, never: tuple[str, Value]
    ) -> query_splitting.SplitQuery:
        """Repeat the only query about a target."""
        queries = []
        for query in split.queries:
            assert query.where is not None
            queries += [query.such_that(text) for text in self._texts(query.where, never)]
        shifts = None if split.shifts is None else np.repeat(split.shifts, self.queries)
        known = np.repeat(split.known, self.queries)
        return query_splitting.SplitQuery(tuple(queries), known, split.group, shifts)

    def _texts(self, where: str, never: tuple[str, Value]) -> list[str]:
        match self.wording:
            case "same":
                return [where] * self.queries
            case "reworded":
                return [reworded(where, i) for i in range(self.queries)]
            case "equivalent":
                return [equivalent(where, *never, i) for i in range(self.queries)]
            case _:
                raise BadInput(f"no wording is called {self.wording!r}; known: same, reworded, equivalent")


def reworded(where: str, i: int) -> str:
    """Return the i-th of many different texts of the same predicate.

    >>> [reworded('"id" = 7', i) for i in range(4)]
    ['"id" = 7', '"id" = 7 AND TRUE', 'TRUE AND "id" = 7', '"id" = 7 aND TRUE']
    """
    whole = f"({where})" if " OR " in where else where
    way, more = i % 4, i // 4
    match way:
        case 0:
            return f"{whole}{' ' * more}"
        case 1:
            return f"{whole}{' AND TRUE' * (more + 1)}"
        case 2:
            return f"{'TRUE AND ' * (more + 1)}{whole}"
        case _:
            return f"{whole} {' ' * (more // _CASES)}{_cased('ANDTRUE', more % _CASES + 1)}"


def equivalent(where: str, column: str, largest: Value, i: int) -> str:
    """Return the i-th of many different predicates that select the same records.

    Each excludes another value that is larger, or longer, than all values of these records in a column.

    >>> equivalent('"id" = 7', "id", 7, 0)
    '("id" = 7) AND ("id" <> 8 OR "id" IS NULL)'
    >>> equivalent('"id" = 7', "name", "ann", 1)
    '("id" = 7) AND ("name" <> \\'annxx\\' OR "name" IS NULL)'
    """
    other: Value
    match largest:
        case str():
            other = largest + "x" * (i + 1)
        case datetime.datetime():
            other = largest + datetime.timedelta(seconds=i + 1)
        case _:
            other = largest + i + 1
    name = quote_identifier(column)
    return f"({where}) AND ({name} <> {quote_literal(other)} OR {name} IS NULL)"


def unused_value(knowledge: OracleKnowledge) -> tuple[str, Value]:
    """Return a column, and a value that is as large or as long as that of any known person and target."""
    match knowledge:
        case KnownRecords(ids=ids, targets=targets):
            texts = [name for name in (*ids, *targets) if isinstance(name, str)]
            if texts:
                return knowledge.id_column, max(texts, key=len)
            return knowledge.id_column, max(name for name in (*ids, *targets) if isinstance(name, int))
        case KnownAttributes(people=people, target_attributes=targets):
            for column in people.types:
                value = largest_value([people, targets], column)
                if value is not None:
                    return column, value
    raise BadInput(
        'wording = "equivalent": takes a column of numbers, texts or times with a value; add one to the '
        'knowledge, or use "reworded"'
    )


def _cased(word: str, pattern: int) -> str:
    """Lower the letters where the pattern has a bit set, and insert a blank after the third."""
    letters = [letter.lower() if pattern >> i & 1 else letter for i, letter in enumerate(word)]
    return "".join(letters[:3]) + " " + "".join(letters[3:])
