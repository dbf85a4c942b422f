import csv
import json

import pytest

CITY = """
seed = 5
[[audit]]
name = "city"
domain = "locations"
data = { source = "visits.csv", columns = { user = "u", time = "t", place = "p" }, epoch = "1h" }
mechanism = { name = "laplace", epsilon = 1.0 }
challenger = { group_size = 6 }
"""


@pytest.fixture
def city(tmp_path):
    """A plan about people with names."""

    def write(*changes):
        text = CITY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "city.toml").write_text(text)
        rows = [
            f"Person-{person:02d},2024-05-0{1 + (person + i) % 5} {7 + i:02d}:00,{'abc'[(person + i) % 3]}"
            for person in range(30)
            for i in range(1 + person % 4)
        ]
        (tmp_path / "visits.csv").write_text("u,t,p\n" + "\n".join(rows) + "\n")
        return "city.toml"

    return write


def test_everybody_is_exposed_and_named_in_one_file_alone(call, city, tmp_path):
    outcome = call("expose", city(), "--out", "here")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("city: Of 30 people, informed would recognise ")
    assert "Median / 95th percentile / maximum over all people:" in outcome.out
    assert "Informed is a ceiling under add_remove" in outcome.out
    assert "Person-" not in outcome.out
    folder = tmp_path / "here"
    people = folder / "exposure.csv"
    assert people.stat().st_mode & 0o777 == 0o600
    with people.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["person"] for row in rows} == {f"Person-{person:02d}" for person in range(30)}
    exposed = [float(row["informed_auc"]) for row in rows]
    assert exposed == sorted(exposed, reverse=True)
    for path in folder.iterdir():
        assert (b"Person-" in path.read_bytes()) == (path == people)


def test_json_names_nobody(call, city):
    outcome = call("expose", city(), "--json")
    found = json.loads(outcome.out)
    assert (found["schema"], found["audits"][0]["people"]) == (1, 30)
    assert found["people"] == "runs/city/exposure.csv"
    assert "Person-" not in outcome.out


def test_under_replace_one_nothing_is_called_a_ceiling(call, city):
    outcome = call("expose", city(("group_size = 6", 'group_size = 6, relation = "replace_one"')))
    assert outcome.code == 0
    assert "Informed is not an upper bound" in outcome.out


@pytest.mark.parametrize(
    "change",
    [
        ("epsilon = 1.0", "epsilon = -1.0"),
        ("epsilon = 1.0", "epsilon = nan"),
        ("group_size = 6", "group_size = 600"),
        ("visits.csv", "nowhere.csv"),
        ('name = "laplace", epsilon = 1.0', 'name = "own", release = "mine:release"'),
        ('"locations"', '"location"'),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(call, city, tmp_path, change):
    city(change)
    (tmp_path / "mine.py").write_text("def release(counts, rng):\n    return counts\n")
    before = {path.name for path in tmp_path.iterdir()}
    outcome = call("expose", "city.toml")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("leakgauge: ")
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_plan_about_nobody_is_refused(call, plan):
    outcome = call("expose", plan())
    assert outcome.code == 2
    assert "'locations'" in outcome.err


def test_a_pipeline_of_ones_own_is_sent_to_be_played(call, city, tmp_path):
    city(('name = "laplace", epsilon = 1.0', 'name = "own", release = "mine:release"'))
    (tmp_path / "mine.py").write_text("def release(counts, rng):\n    return counts\n")
    outcome = call("expose", "city.toml")
    assert outcome.code == 2
    assert "audit 'city': exposure needs the noise distribution" in outcome.err
    assert "mechanism 'own' is not known; simulate releases instead: leakgauge run" in outcome.err


def test_both_compositions_and_the_rows_that_were_read_are_printed(call, city, tmp_path):
    name = city(('epoch = "1h"', 'epoch = "1h", bad_share = 0.1'))
    with (tmp_path / "visits.csv").open("a") as file:
        file.write("Person-99,never,a\n")
    outcome = call("expose", name)
    assert outcome.code == 0
    assert "Promised is ε\xa0=\xa01 for one event." in outcome.out
    assert "    kairouz  ε " in outcome.out
    assert "    tight    ε " in outcome.out
    assert "visits.csv: 74 rows read: 73 kept, 1 bad (first: line 75 (time))" in outcome.out
    assert "never" not in outcome.out


def test_points_of_a_sweep_share_what_is_noted_of_their_data(call, city, tmp_path):
    name = city(("group_size = 6 }", 'group_size = 6 }\nsweep = { "mechanism.epsilon" = [0.5, 1.0, 2.0] }'))
    outcome = call("expose", name, "--out", "here")
    assert outcome.code == 0
    assert outcome.out.count(": Of 30 people, ") == 3
    assert outcome.out.count("rows read") == 1
    assert outcome.out.count("nobody can do better") == 1
    assert (tmp_path / "here" / "exposure.html").read_text().count("rows read") == 1
