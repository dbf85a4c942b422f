"""Questions of the auditor to a service after an attack: whether it refuses when its budget is spent.

Attackers ask only what they need. One session of a block is therefore asked on: first a question that it has
answered already, which a cache must answer in the same way, then new questions about the target.
"""

from collections.abc import Iterator
from functools import lru_cache

from leakgauge.domains.queries.guarantee import least_epsilon
from leakgauge.domains.queries.oracle import ROUNDING, OracleRules
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.records import OracleTable
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal

MOST_QUESTIONS = 40  # in the session that is asked on
FEWEST_ROUNDS = 8  # smaller blocks are not all asked on


def has_probe(rules: OracleRules, n_rounds: int, seed: int) -> bool:
    """Whether one session of a block is asked on: in one of eight rounds at most."""
    return rules.bounded and seed % FEWEST_ROUNDS < n_rounds


@lru_cache(maxsize=64)
def answers_beyond(rules: OracleRules) -> int | None:
    """How many answers about one record no composition fits into the budget; None if they are many."""
    if rules.budget is None or rules.most_answers is None:
        return None
    delta, low = rules.composed_at, rules.most_answers
    high = low + 1
    while not _is_beyond(rules, high, delta):
        low, high = high, 2 * high
        if high > 2 * rules.most_answers + 2 * MOST_QUESTIONS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_beyond(rules, middle, delta) else (middle, high)
    return high


def most_further_questions(rules: OracleRules) -> int:
    """How many questions a session is asked on at most."""
    beyond = answers_beyond(rules) if rules.bounded else None
    return 0 if beyond is None else min(2 * MOST_QUESTIONS, beyond + 2)


def _is_beyond(rules: OracleRules, n_answers: int, delta: float) -> bool:
    assert rules.budget is not None
    return least_epsilon(rules.noise, n_answers, delta) > rules.budget * (1 + ROUNDING)


def further_questions(asked: Query, table: OracleTable) -> Iterator[Query]:
    """New questions that select a target, in the manner of one that a service has answered."""
    records, target = table.records, int(table.targets[0])
    name = records.ids[target]
    if asked.ids is not None:
        others = [row for row in range(len(records)) if row not in table.targets][-2 * MOST_QUESTIONS :]
        for i, row in enumerate(reversed(others)):
            more = (records.ids[others[0]],) if i % 2 and row != others[0] else ()
            yield asked.on((name, records.ids[row], *more))
        return
    column = quote_identifier(records.id_column)
    for i in range(1, MOST_QUESTIONS + 1):
        other: Id = name + "z" * i if isinstance(name, str) else -i - abs(name)
        where = f"{column} = {quote_literal(name)} AND {column} <> {quote_literal(other)}"
        yield asked.such_that(where)
