import pytest

from domains.queries.fake_oracle import knowledge, success
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.attacks.repeat import Attack, equivalent, reworded
from leakgauge.domains.queries.sql.conditions import quote_literal
from leakgauge.theory import query_splitting

ONCE, OFTEN = (float(query_splitting.midpoint_laplace(m, 0.5)) for m in (1, 20))


@pytest.mark.parametrize(
    ("cache", "wording", "expected"),
    [
        ("none", "same", OFTEN),
        ("none", "reworded", OFTEN),
        ("text", "same", ONCE),
        ("text", "reworded", OFTEN),
        ("canonical", "same", ONCE),
        ("canonical", "reworded", ONCE),
        ("canonical", "equivalent", OFTEN),
    ],
)
def test_repeating_helps_without_matching_cache(cache, wording, expected):
    value, error = success(Attack(queries=20, wording=wording), knowledge(epsilon=0.5, cache=cache))
    assert abs(value - expected) < 4 * error


def test_needs_no_known_record():
    assert success(Attack(queries=50), knowledge(epsilon=1.0, n_known=0))[0] > 0.99


def test_stops_when_budget_is_spent():
    known = knowledge(epsilon=0.5, accountant="per_predicate", budget=0.5)
    value, error = success(Attack(queries=20, wording="equivalent"), known)
    assert abs(value - ONCE) < 4 * error


def worded(wording_of, target, i):
    named = ("id", target) if wording_of is equivalent else ()
    return wording_of(f'"id" = {quote_literal(target)}', *named, i)


@pytest.mark.parametrize("target", [7, "O'Hara"])
@pytest.mark.parametrize("wording_of", [reworded, equivalent])
def test_wordings_are_distinct(wording_of, target):
    assert len({worded(wording_of, target, i) for i in range(3_000)}) == 3_000


@pytest.mark.parametrize("target", [7, "O'Hara"])
@pytest.mark.parametrize("wording_of", [reworded, equivalent])
def test_every_wording_selects_target_alone(wording_of, target):
    import duckdb

    kind, others = ("INTEGER", range(20)) if target == 7 else ("VARCHAR", ["O'Hara", "O'Harax", "x", ""])
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE records (id {kind})")
        database.executemany("INSERT INTO records VALUES (?)", [[one] for one in others])
        for i in (*range(40), 700):
            rows = database.execute(
                f"SELECT id FROM records WHERE {worded(wording_of, target, i)}"
            ).fetchall()
            assert rows == [(target,)]


def test_rejects_zero_queries():
    with pytest.raises(BadInput, match=r"queries must be in 1\.\."):
        Attack(queries=0)
