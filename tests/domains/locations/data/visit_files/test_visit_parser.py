from datetime import UTC, datetime

import duckdb
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files import visit_parser
from leakgauge.domains.locations.data.visit_files.duckdb_reader import SqlField
from leakgauge.domains.locations.data.visit_files.visit_parser import TimeFormat

PLAIN = TimeFormat()
EIGHT = datetime(2013, 11, 1, 8, tzinfo=UTC).timestamp()


def read(text, timing=PLAIN, kind="VARCHAR"):
    field = SqlField("x", kind)
    relation = visit_parser.with_time_text(field, f"(SELECT CAST(? AS {kind}) AS x)")
    utc, wall = visit_parser.times_sql(field, timing, "data.source")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.execute(f"SELECT {utc}, {wall} FROM {relation}", [text]).fetchall()[0]


@pytest.mark.parametrize(
    "text",
    [
        "2013-11-01 08:00:00",
        "2013-11-01T08:00:00",
        "2013-11-01T08:00",
        "2013-11-01 08:00:00.000",
        " 2013-11-01 08:00:00 ",
        "2013/11/01 08:00:00",
        "2013-11-1 8:00:00",
    ],
)
def test_naive_times_are_local_by_default(text):
    assert read(text) == (None, EIGHT)
    assert read(text, TimeFormat(local=False)) == (EIGHT, None)


@pytest.mark.parametrize(
    "text",
    [
        "2013-11-01T08:00:00Z",
        "2013-11-01 09:00:00+01:00",
        "2013-11-01 09:00+01",
        "2013-11-01T09:00:00.000+0100",
        "2013-11-01T02:30:00-05:30",
        "2013-11-01 08:00:00 UTC",
        str(int(EIGHT)),
        f"{EIGHT:.3f}",
    ],
)
def test_times_with_zone_and_numbers_are_absolute(text):
    assert read(text) == (EIGHT, None)


def test_numbers_count_from_local_origin():
    assert read("8", TimeFormat(unit=3600.0, origin=int(EIGHT) - 8 * 3600)) == (None, EIGHT)
    assert read(8, TimeFormat(unit=3600.0, origin=int(EIGHT) - 8 * 3600), "SMALLINT") == (None, EIGHT)
    assert read("8", TimeFormat(unit=3600.0, origin=int(EIGHT) - 8 * 3600, local=False)) == (EIGHT, None)
    assert read(int(EIGHT) * 1000, TimeFormat(unit=1e-3), "BIGINT") == (EIGHT, None)


def test_uses_custom_time_format():
    assert read("01/11/2013 08.00", TimeFormat(format="%d/%m/%Y %H.%M")) == (None, EIGHT)
    assert read("Fri Nov 01 08:00:00 +0000 2013", TimeFormat(format="%a %b %d %H:%M:%S %z %Y")) == (
        EIGHT,
        None,
    )
    assert read("2013-11-01 08:00:00", TimeFormat(format="%d/%m/%Y %H.%M")) == (None, None)


@pytest.mark.parametrize(
    "text", ["soon", "", "2013-02-30", "2013-11-01 25:00:00", "08:00", "01/11/2013", "2013-11-01Q"]
)
def test_unparsable_time_is_null(text):
    assert read(text) == (None, None)


def test_rejects_column_of_another_type():
    with pytest.raises(BadInput, match=r"holds BOOLEAN; numbers, texts and timestamps"):
        read(True, kind="BOOLEAN")


@pytest.mark.parametrize(
    ("value", "kind", "name"),
    [
        (" ann ", "VARCHAR", "ann"),
        ("", "VARCHAR", None),
        (7, "INTEGER", "7"),
        (7.0, "DOUBLE", "7"),
        (7.5, "DOUBLE", "7.5"),
    ],
)
def test_people_and_places_are_texts(value, kind, name):
    sql = f"SELECT {visit_parser.text_sql(SqlField('x', kind))} FROM (SELECT CAST(? AS {kind}) AS x)"
    assert duckdb.connect().execute(sql, [value]).fetchall()[0][0] == name


def test_nan_is_null():
    connection = duckdb.connect()
    who = visit_parser.text_sql(SqlField("x", "DOUBLE"))
    assert connection.execute(f"SELECT {who} FROM (SELECT 'nan'::DOUBLE AS x)").fetchall() == [(None,)]
    for lat in ("'nan'::DOUBLE", "NULL::DOUBLE", "90.001", "'inf'::DOUBLE"):
        assert connection.execute(f"SELECT {visit_parser.valid_point_sql(lat, '0')}").fetchall() == [(False,)]


def test_scaling_is_exact_in_decimal():
    lat = visit_parser.number_sql(SqlField("x", "INTEGER"), 1e-5)
    assert duckdb.connect().execute(f"SELECT {lat} FROM (SELECT 3775157 AS x)").fetchall() == [(37.75157,)]
    assert visit_parser.scaled_sql("x", 3.0) == "(x * 3.0)"
    assert visit_parser.scaled_sql("x", 0.3) == "(x * 0.3)"
