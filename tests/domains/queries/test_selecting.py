import datetime

from leakgauge.domains.queries.conditions import All, Bound, Like, Member, Operand, Type
from leakgauge.domains.queries.selecting import selecting

NAME, AGE = Operand('"name"', Type.TEXT), Operand('"age"', Type.WHOLE)


def test_texts_never_enter_the_sql():
    evil = "'; DROP TABLE records; --"
    sql, texts = selecting(All(frozenset({Member(NAME, frozenset({evil})), Like(NAME, evil, folded=False)})))
    assert "DROP" not in sql
    assert texts == [evil, evil]
    assert sql.count("?") == 2


def test_values_are_written_in_one_order():
    assert selecting(Member(AGE, frozenset({3, 1, 2}))) == selecting(Member(AGE, frozenset({2, 3, 1})))


def test_times_and_reals_are_written_exactly():
    since, weight = Operand('"since"', Type.TIME), Operand('"weight"', Type.REAL)
    time = datetime.datetime.fromisoformat("2020-01-02 03:04:05.000006")
    assert (
        selecting(Bound(since, time, lower=True))[0]
        == "(\"since\" >= TIMESTAMP '2020-01-02 03:04:05.000006')"
    )
    assert selecting(Bound(weight, 0.1, lower=False, closed=False))[0] == '("weight" < 0.1e0)'
