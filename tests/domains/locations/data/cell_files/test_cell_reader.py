"""Files of people and cells: CSV and Parquet, one column or several, values, and what is refused."""

import numpy as np
import pytest

from domains.locations.tiny_files import loaded, parquet, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.challenger import build
from leakgauge.domains.locations.data.data_summary import data_summary

ALLELES = ("person,snp,alleles", "b,rs1,2", "a,rs1,1", "a,rs2,0", "c,rs10,1", "b,rs10,1", "d,rs2,0")
COLUMNS = {"user": "person", "cell": "snp"}
VALUES = COLUMNS | {"value": "alleles"}


def table_of(read):
    return dict(zip(read.traces.names.tolist(), read.traces.visits.toarray().tolist()))


def test_cells_without_values_count_once(tmp_path):
    written(tmp_path, "bought.csv", "user,product", "a,tea", "b,tea", "a,tea", "a,rice")
    read = loaded(tmp_path, source="bought.csv", columns={"cell": "product"})
    assert table_of(read) == {"a": [1, 1], "b": [0, 1]}
    assert read.places.tolist() == ["rice", "tea"]
    assert read.tally.summary == "4 rows read: 4 kept, 1 repeated (counted once)"
    assert (read.traces.map.max_value, read.traces.map.timed) == (1, False)


def test_values_are_added(tmp_path):
    written(tmp_path, "g.csv", *ALLELES)
    read = loaded(tmp_path, source="g.csv", columns=VALUES)
    assert read.places.tolist() == ["rs1", "rs10", "rs2"]
    assert table_of(read) == {"a": [1, 0, 0], "b": [2, 1, 0], "c": [0, 1, 0], "d": [0, 0, 0]}
    assert read.traces.map.max_value == 2


def test_parquet_gives_the_same(tmp_path):
    written(tmp_path, "g.csv", *ALLELES)
    rows = ", ".join(f"('{u}', '{c}', {v})" for u, c, v in (line.split(",") for line in ALLELES[1:]))
    parquet(tmp_path, "g.parquet", f"SELECT * FROM (VALUES {rows}) AS t(person, snp, alleles)")
    first, second = (loaded(tmp_path, source=name, columns=VALUES) for name in ("g.csv", "g.parquet"))
    assert table_of(first) == table_of(second)


def test_several_columns_make_a_cell(tmp_path):
    lines = ("user,from,to", "a,1,2", "a,2,10", "b,10,2", "b,1,2")
    written(tmp_path, "trips.csv", *lines)
    read = loaded(tmp_path, source="trips.csv", columns={"cell": ["from", "to"]})
    assert (read.traces.map.n_places, read.traces.map.n_epochs) == (3, 2)  # from 1, 2, 10; to 2, 10
    assert table_of(read) == {"a": [1, 0, 0, 1, 0, 0], "b": [1, 0, 0, 0, 1, 0]}


def test_three_columns_keep_the_last_one_apart(tmp_path):
    written(tmp_path, "t.csv", "user,a,b,c", "u,1,1,x", "u,1,2,x", "v,11,,x", "v,1,1,y")
    read = loaded(tmp_path, source="t.csv", columns={"cell": ["a", "b", "c"]}, bad_share=0.5)
    assert (read.traces.map.n_places, read.traces.map.n_epochs) == (2, 2)
    assert read.tally.bad_rows == ("t.csv: line 4 (cell)",)


def test_top_keeps_the_most_frequent_cells(tmp_path):
    written(tmp_path, "b.csv", "user,cell", "a,x", "b,x", "a,y", "b,z", "c,z", "a,z")
    read = loaded(tmp_path, source="b.csv", columns={"cell": "cell"}, top=2)
    assert read.places.tolist() == ["x", "z"]
    assert table_of(read) == {"a": [1, 1], "b": [1, 1], "c": [0, 1]}


@pytest.mark.parametrize(
    ("lines", "columns", "message"),
    [
        (("a,rs1,3", "a,rs2,1"), VALUES, r"line 2 \(value\); a value must be 0, 1 or 2"),
        (("a,rs1,x", "a,rs2,1"), VALUES, r"line 2 \(value\)"),
        (("a,rs1,x", "a,rs2,y"), VALUES, "a value must be 0, 1 or 2; columns may be wrong$"),
        (("a,rs1,0.5", "a,rs2,1"), VALUES, r"line 2 \(value\)"),
        ((",rs1,1", "a,rs2,1"), VALUES, r"user: 1\), first g.csv: line 2 \(user\)"),
        (("a,,1", "a,rs2,1"), VALUES, r"line 2 \(cell\)"),
        (("a,rs1,1", "a,rs1,2"), VALUES, "more than one row for 1 pairs of a person and a cell"),
        (("a,rs1,1",), COLUMNS | {"cell": "snps"}, r'Map it: columns = \{ user = "person", cell = "snp" \}'),
        (("a,rs1,1",), COLUMNS | {"cell": []}, "cell names no column"),
        (("a,rs1,1",), COLUMNS | {"cell": "person"}, "'person' is named twice"),
        (("a,rs1,1",), COLUMNS | {"time": "t"}, "time"),
        ((), COLUMNS, "has no rows"),
    ],
)
def test_refuses_in_one_line(tmp_path, lines, columns, message):
    written(tmp_path, "g.csv", ALLELES[0], *lines)
    with pytest.raises(BadInput, match=message) as refused:
        loaded(tmp_path, source="g.csv", columns=columns)
    assert "\n" not in str(refused.value)


def test_few_bad_values_are_left_out_and_reported(tmp_path):
    written(tmp_path, "g.csv", ALLELES[0], *(f"p{i},rs1,{i % 3}" for i in range(200)), "p7,rs2,9")
    read = loaded(tmp_path, source="g.csv", columns=VALUES)
    assert read.tally.summary_with_bad_rows.endswith("1 bad (first: g.csv: line 202 (value))")


def test_refuses_map_files(tmp_path):
    written(tmp_path, "g.geojson", "{}")
    with pytest.raises(BadInput, match="read from CSV or Parquet"):
        loaded(tmp_path, source="g.geojson", columns=COLUMNS)


def built(folder, challenger=None, mechanism=None, **data):
    written(folder, "g.csv", ALLELES[0], *(f"p{i},rs{j},{(i + j) % 3}" for i in range(40) for j in range(6)))
    return build(
        data={"source": "g.csv", "columns": VALUES, **data},
        challenger={"group_size": 10, **(challenger or {})},
        mechanism=mechanism or {"name": "laplace", "epsilon": 1.0},
        folder=folder,
        seed=1,
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"challenger": {"per_day": 2}}, "has no times; leave it out, or set per_user"),
        ({"mechanism": {"name": "laplace", "epsilon": 1.0, "unit": "user-day"}}, "has no days"),
        ({"grid": [2, 2]}, "no key is called 'grid'"),
        ({"columns": {"cell": "snp", "user": "person", "lat": "x"}}, "no key is called 'lat'"),
    ],
)
def test_refuses_keys_about_times_and_places(tmp_path, tables, message):
    with pytest.raises(BadInput, match=message):
        built(tmp_path, **tables)


def test_plan_gives_noise_clamp_and_summary_by_value(tmp_path):
    mechanism = {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True}
    challenger = built(tmp_path, mechanism=mechanism)
    assert challenger.chain.noise.noise_scale == 2.0
    assert challenger.chain.group_size == 20  # two for each of ten people
    assert "40 people, 6 cells; cells per person: median 4" in challenger.notes[0]
    assert "values: 80 of 1, 80 of 2" in challenger.notes[0]
    assert challenger.notes[1] == "g.csv: 240 rows read: 240 kept"
    assert "visit" not in " ".join(challenger.notes)


def test_generated_genotypes_are_in_equilibrium(tmp_path):
    table = {"source": "synthetic-genotypes", "users": 4_000, "snps": 5, "frequencies": [0.2, 0.4]}
    read = loaded(tmp_path, **table)
    values = read.traces.visits.toarray()
    p = values.mean(axis=0) / 2
    assert ((p > 0.17) & (p < 0.43)).all()
    np.testing.assert_allclose((values == 2).mean(axis=0), p**2, atol=0.02)
    assert "5 cells" in data_summary(read, read.traces)
    with pytest.raises(BadInput, match="frequencies must be two numbers"):
        loaded(tmp_path, **table | {"frequencies": [0.4, 0.2]})
