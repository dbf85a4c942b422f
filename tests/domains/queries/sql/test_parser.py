import duckdb
import numpy as np
import pytest

from domains.queries.random_predicates import predicate
from domains.queries.small_table import TYPES, records
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.sql.conditions import ColumnType, Operand
from leakgauge.domains.queries.sql.parser import coerce_to_column, literal_of, parse_predicate


def constant(kind, text):
    return {"class": "CONSTANT", "literal": {"kind": kind, "text": text}}


def older(kind, value, **more):
    """As DuckDB wrote constants before its second version."""
    return {"class": "CONSTANT", "value": {"type": {"id": kind, **more}, "is_null": False, "value": value}}


@pytest.mark.parametrize(
    ("tree", "value"),
    [
        (constant("INTEGER", "1_000"), 1000),
        (constant("NUMERIC", ".5"), 0.5),
        (constant("NUMERIC", "3e1"), 30),
        (constant("STRING", "3"), "3"),
        (constant("BOOLEAN", "true"), True),
        (older("INTEGER", 5), 5),
        (older("DOUBLE", 0.25), 0.25),
        (older("DECIMAL", 305, type_info={"width": 3, "scale": 1}), 30.5),
        (older("VARCHAR", "x"), "x"),
        (older("BOOLEAN", True), True),
    ],
)
def test_constants_have_their_type(tree, value):
    assert literal_of(tree) == value
    assert type(literal_of(tree)) is type(value)


@pytest.mark.parametrize(
    "tree",
    [
        constant("NULL_LITERAL", ""),
        constant("BLOB", "x"),
        constant("INTEGER", "x"),
        constant("NUMERIC", "1e999"),
    ],
)
def test_rejects_unsupported_constants(tree):
    with pytest.raises(BadInput):
        literal_of(tree)


def test_large_integers_are_exact():
    assert literal_of(constant("INTEGER", "9007199254740993")) == 9007199254740993
    assert coerce_to_column(9007199254740993, Operand("a", ColumnType.WHOLE)) == 9007199254740993
    with pytest.raises(BadInput, match="larger than any whole number"):
        coerce_to_column(2**63, Operand("a", ColumnType.WHOLE))


@pytest.fixture(scope="module")
def database():
    """The same table in a database of the test's own, where texts are executed as they are."""
    with duckdb.connect(":memory:") as connection:
        columns = records().columns
        rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
        typed = ", ".join(f"{name} {TYPES[name]}" for name in columns)
        connection.execute(f"CREATE TABLE people ({typed})")
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(columns))})", rows)
        yield connection


@pytest.mark.parametrize("seed", range(6))
def test_predicate_matches_database(database, seed):
    rng, table, some = np.random.default_rng([1, seed]), records(), 0
    for _ in range(100):
        text = predicate(rng)
        expected = sorted(
            row for (row,) in database.execute(f"SELECT id FROM people WHERE {text}").fetchall()
        )
        assert table.rows(table.condition(Query(where=text))).tolist() == expected, text
        some += 0 < len(expected) < 10
    assert some > 40


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age > 30 AND region = 'north'", "  REGION='north'   and AGE>30"),
        ("age > 30", "30 < age"),
        ("age > 30", "age >= 31"),
        ("age > 30", "NOT (age <= 30)"),
        ("age > 30", "NOT NOT ((age > 30.5))"),
        ("age > 30", "age > 30 AND true AND TRUE"),
        ("age > 30", "age > 30 OR 1 = 2"),
        ("age > 30", "age > 30 AND age > 30"),
        ("age = 30", "age IN (30, 30.0, 3e1)"),
        ("age IN (1, 2)", "age = 2 OR age = 1"),
        ("age NOT IN (1, 2)", "age <> 2 AND NOT age = 1"),
        ("age BETWEEN 3 AND 5", "age <= 5 AND age >= 3"),
        ("NOT (age > 3 AND smoker)", "NOT smoker OR age < 4"),
        ("smoker", "smoker = true"),
        ("NOT smoker", "smoker <> true"),
        ("age IS NOT NULL", "NOT age IS NULL"),
        ("region NOT LIKE 'n%'", "NOT (region LIKE 'n%')"),
        ("income > age", "age < income"),
        ("(id = 1 OR id = 2) OR id = 3", "id = 3 OR (id = 2 OR id = 1)"),
        ("since > '2020-01-01'", "since > '2020-01-01 00:00:00'"),
    ],
)
def test_equivalent_texts_give_same_condition(one, other):
    assert parse_predicate(one, TYPES) == parse_predicate(other, TYPES)
    assert hash(parse_predicate(one, TYPES)) == hash(parse_predicate(other, TYPES))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age > 30", "age >= 30"),
        ("income > 30", "income >= 31"),
        ("region = 'north'", "region = 'North'"),
        ("region LIKE 'n%'", "region ILIKE 'n%'"),
        ("age > 30 AND smoker", "age > 30 OR smoker"),
        ("lower(region) = 'north'", "upper(region) = 'north'"),
        ("id % 2 = 0", "id % 3 = 0"),
    ],
)
def test_different_texts_give_different_conditions(one, other):
    assert parse_predicate(one, TYPES) != parse_predicate(other, TYPES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1=1; DROP TABLE records", "a statement besides"),
        ("true; SELECT 1", "more than one statement|more than a predicate|besides"),
        ("true;", "semicolon"),
        ("age IN (SELECT 1)", "a subquery"),
        ("EXISTS (SELECT 1)", "a subquery"),
        ("age = ANY(ARRAY[1])", "a subquery"),
        ("(SELECT true)", "a subquery"),
        ("read_csv('/etc/passwd') IS NOT NULL", "read_csv is not an allowed function"),
        ("read_text('/etc/passwd') LIKE 'r%'", "read_text is not an allowed function"),
        ("getenv('HOME') = 'x'", "getenv is not an allowed function"),
        ("current_setting('threads') = '1'", "current_setting is not an allowed function"),
        ("random() > 0.5", "random is not an allowed function"),
        ("main.lower(region) = 'north'", "in a schema"),
        ("count(*) > 3", "not an allowed function"),
        ("length(DISTINCT region) > 3", "aggregate"),
        ("sum(age) OVER () > 3", "a window"),
        ("age > 3 -- and more", "a comment"),
        ("age > /* more */ 3", "a comment"),
        ("region = 'north", "unterminated"),
        ('"age > 3', "not a predicate|not valid SQL"),
        ("age >", "syntax error"),
        ("age > 3)", "syntax error"),
        ("1=1) OR (1=1", "syntax error"),
        ("", "is empty"),
        ("  ", "is empty"),
        ("age > 3 ORDER BY age", "more than a predicate"),
        ("age > 3 LIMIT 1", "more than a predicate"),
        ("age > 3 GROUP BY age", "more than a predicate"),
        ("age > 3 HAVING true", "more than a predicate"),
        ("age > 3 UNION SELECT 1", "more than a predicate"),
        ("weight > 3", "no column is called 'weight'"),
        ("rowid = 1", "no column is called 'rowid'"),
        ("agee > 3", "did you mean 'age'"),
        ("records.age > 3", "not a column"),
        ("other.records.age > 3", "not a column"),
        ("age", "neither true nor false"),
        ("3", "neither true nor false"),
        ("true AND 3", "neither true nor false"),
        ("age = NULL", "IS NULL"),
        ("age IN (1, NULL)", "IS NULL"),
        ("region > 5", "cannot be compared"),
        ("age > 'x'", "cannot be compared"),
        ("smoker = 1", "cannot be compared"),
        ("smoker > false", "use ="),
        ("region = age", "cannot be compared"),
        ("1 = 'x'", "cannot be compared"),
        ("since > 'yesterday'", "is not; write"),
        ("since > '2020-01-01T00:00:00+01:00'", "without a zone"),
        ("age > 1e999", "larger than any"),
        ("age > 99999999999999999999", "larger than any whole number"),
        ("CAST(age AS VARCHAR) = '3'", "a cast"),
        ("age::VARCHAR = '3'", "a cast"),
        ("CASE WHEN smoker THEN true END", "a case"),
        ("age > ?", "a parameter"),
        ("age > $1", "a parameter"),
        ("* = 3", "a star"),
        ("age + 1 > 3", r"\+ is not an allowed function"),
        ("1 / age > 3", "/ is not an allowed function"),
        ("age % 0 = 1", "must be > 0"),
        ("age % -2 = 1", "must be > 0"),
        ("lower(age) = 'x'", "needs one text"),
        ("age LIKE 'x'", "LIKE compares"),
        ("region = 'a\0b'", "zero byte"),
        ("age IS DISTINCT FROM 3", "not an allowed comparison"),
        ("region = 'x' COLLATE NOCASE", "collate"),
        ("\ud800 = 3", "not valid SQL"),
        ("NOT " * 500 + "smoker", "nested more than"),
        ("(" * 5000 + "smoker" + ")" * 5000, "nested more than|not a predicate"),
        ("age IN (" + "1, " * 400_000 + "1)", "characters"),
    ],
)
def test_rejects_invalid_predicates(text, message):
    with pytest.raises(BadInput, match=message) as refusal:
        parse_predicate(text, TYPES)
    assert str(refusal.value).startswith("where = ")
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 400


def test_comment_markers_in_strings_are_harmless():
    table = records(region=np.array(["a;--b", "/*c*/", "');--", *"abcdefg"], dtype=object))
    for row, text in enumerate(["a;--b", "/*c*/", "');--"]):
        condition = parse_predicate("region = '" + text.replace("'", "''") + "'", TYPES)
        assert table.rows(condition).tolist() == [row]


def test_columns_may_have_any_name():
    odd = 'a "b"; --'
    table = records()
    changed = type(table)({**TYPES, odd: TYPES["age"]}, {**table.columns, odd: np.arange(10)}, "id", "d")
    condition = parse_predicate('"a ""b""; --" >= 8', changed.types)
    assert changed.rows(condition).tolist() == [8, 9]
