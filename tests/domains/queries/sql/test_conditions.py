import datetime

from leakgauge.domains.queries.sql.conditions import (
    And,
    ColumnType,
    IsIn,
    LikePattern,
    OneSidedBound,
    Operand,
    where_clause,
)

NAME, AGE = Operand('"name"', ColumnType.TEXT), Operand('"age"', ColumnType.WHOLE)


def test_texts_are_passed_as_parameters():
    evil = "'; DROP TABLE records; --"
    sql, texts = where_clause(
        And(frozenset({IsIn(NAME, frozenset({evil})), LikePattern(NAME, evil, folded=False)}))
    )
    assert "DROP" not in sql
    assert texts == [evil, evil]
    assert sql.count("?") == 2


def test_values_are_sorted():
    assert where_clause(IsIn(AGE, frozenset({3, 1, 2}))) == where_clause(IsIn(AGE, frozenset({2, 3, 1})))


def test_times_and_reals_are_exact():
    since, weight = Operand('"since"', ColumnType.TIME), Operand('"weight"', ColumnType.REAL)
    time = datetime.datetime.fromisoformat("2020-01-02 03:04:05.000006")
    assert (
        where_clause(OneSidedBound(since, time, lower=True))[0]
        == "(\"since\" >= TIMESTAMP '2020-01-02 03:04:05.000006')"
    )
    assert where_clause(OneSidedBound(weight, 0.1, lower=False, closed=False))[0] == '("weight" < 0.1e0)'
