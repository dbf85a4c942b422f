import csv
import json
from pathlib import Path

import pytest

import leakgauge
from leakgauge.core.errors import BadInput

CITY = """
seed = 5
[[audit]]
name = "city"
domain = "locations"
data = { source = "visits.csv", columns = { user = "u", time = "t", place = "p" }, epoch = "1h" }
mechanism = { name = "laplace", epsilon = 1.0 }
challenger = { splits = 1, group_size = 6 }
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


def test_expose_writes_names_to_csv_only(call, city, tmp_path):
    outcome = call("expose", city(), "--out", "here")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("city: Of 30 people, in random groups of 6, ")
    assert "by the attacker who knows everyone else's data (informed)" in outcome.out
    assert "Median / 95th percentile / maximum over all people:" in outcome.out
    assert "Informed is an upper bound on any attacker" in outcome.out
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


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_computed(call, city, monkeypatch):
    def compute(*_):
        pytest.fail("the folder is checked first")

    monkeypatch.setattr("leakgauge.api.expose_plan", compute)
    outcome = call("expose", city(), "--out", "visits.csv/here")  # also an administrator cannot write there
    assert outcome.code == 2
    assert outcome.err.startswith(
        "leakgauge: visits.csv/here: cannot be written to (Not a directory); choose"
    )
    monkeypatch.setattr("leakgauge.api.expose_query_log", compute)
    with pytest.raises(BadInput, match="cannot be written to"):
        leakgauge.expose_log("log.csv", out="visits.csv/here")


def test_json_output_has_no_names(call, city):
    outcome = call("expose", city(), "--json")
    found = json.loads(outcome.out)
    assert (found["schema"], found["audits"][0]["people"]) == (1, 30)
    assert found["people"] == "runs/city/exposure.csv"
    assert "Person-" not in outcome.out


def test_a_limit_on_people_names_the_command_that_decides_it(call, city, tmp_path):
    """Also with a folder of its own: what the message says is enough for the gate to decide."""
    (tmp_path / "policy.toml").write_text("[limits]\naccuracy = 0.99\nrecognised = 0.5\n")
    plan = city(
        (
            'name = "city"',
            'name = "city"\nrounds = 100\nattacks = [{ name = "likelihood", knowledge = "informed" }]',
        ),
        ("epsilon = 1.0", "epsilon = 0.1"),
    )
    words = "leakgauge expose city.toml --out other"
    for outcome in (
        call("run", plan, "--policy", "policy.toml", "--out", "other"),
        call("judge", "other"),
        call("gate", "other"),
    ):
        assert outcome.code == 3
        assert f"not counted yet for city; count them with: {words}." in outcome.out
    page = (tmp_path / "other" / "report.html").read_text()
    assert page.count("not counted yet") == 3  # what is decided, its row of limits, and what to do about it
    assert "Not decided: people recognised are not counted yet; the other limits are met." in page
    assert "Count the people who can be recognised: leakgauge expose city.toml --out DIR" in page
    assert str(tmp_path) not in page
    assert call(*words.split()[1:]).code == 0
    assert "not counted yet" not in call("gate", "other").out
    assert "not counted yet" not in (tmp_path / "other" / "report.html").read_text()


def test_longer_periods_and_larger_places_together_hide_people(tmp_path):
    """What reports advise: people are hidden by being in fewer counts, which larger places alone do not give.

    Everybody is in another place each day, at an hour of its own: 6 counts per hour or day, whatever the
    places are, and one per week and region. About a single count with Laplace noise of epsilon 2 the best
    attacker is right 1 - exp(-1) / 2 = 81.6 % of the time, which recognises nobody.
    """
    rows = [
        f"{person},2024-05-{6 + day:02d} {7 + (person + day) % 12:02d}:00,{place},{place}"
        for person in range(20)
        for day in range(6)
        for place in [0.5 + (person + 3 * day) % 8]
    ]
    (tmp_path / "v.csv").write_text("u,t,lat,lon\n" + "\n".join(rows) + "\n")
    columns = {"user": "u", "time": "t", "lat": "lat", "lon": "lon"}

    def recognised(cells, epoch):
        data = {"source": str(tmp_path / "v.csv"), "columns": columns, "timezone": "UTC"}
        data |= {"box": [0.0, 0.0, 8.0, 8.0], "grid": [cells, cells], "epoch": epoch}
        audit = {"name": "v", "domain": "locations", "data": data, "challenger": {"group_size": "everyone"}}
        audit["mechanism"] = {"name": "laplace", "epsilon": 2.0, "unit": "event"}
        (found,) = leakgauge.expose({"seed": 1, "audit": [audit]})
        informed = found.check({"recognised": 0.5, "attackers": ["informed"]})
        return informed.value

    assert recognised(8, "1h") == recognised(1, "1h") == recognised(1, "1d") == 1.0
    assert recognised(1, "7d") == 0.0


def test_no_ceiling_under_replace_one(call, city):
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
def test_bad_input_prints_one_line_and_writes_nothing(call, city, tmp_path, change):
    city(change)
    (tmp_path / "mine.py").write_text("def release(counts, rng):\n    return counts\n")
    before = {path.name for path in tmp_path.iterdir()}
    outcome = call("expose", "city.toml")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("leakgauge: ")
    assert {path.name for path in tmp_path.iterdir()} == before


def test_rejects_plan_without_people(call, plan):
    outcome = call("expose", plan())
    assert outcome.code == 2
    assert "'locations'" in outcome.err


def test_user_pipeline_is_referred_to_run(call, city, tmp_path):
    city(('name = "laplace", epsilon = 1.0', 'name = "own", release = "mine:release"'))
    (tmp_path / "mine.py").write_text("def release(counts, rng):\n    return counts\n")
    outcome = call("expose", "city.toml")
    assert outcome.code == 2
    assert "audit 'city': exposure needs the noise distribution" in outcome.err
    assert "mechanism 'own' is not known; simulate releases instead: leakgauge run" in outcome.err


def test_prints_both_compositions_and_rows_read(call, city, tmp_path):
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


def test_data_notes_are_printed_once_per_sweep(call, city, tmp_path):
    name = city(("group_size = 6 }", 'group_size = 6 }\nsweep = { "mechanism.epsilon" = [0.5, 1.0, 2.0] }'))
    outcome = call("expose", name, "--out", "here")
    assert outcome.code == 0
    assert outcome.out.count(": Of 30 people, ") == 3
    assert outcome.out.count("rows read") == 1
    assert outcome.out.count("no attacker can do better") == 1
    assert (tmp_path / "here" / "exposure.html").read_text().count("rows read") == 1


EVERYONE = ("splits = 1, group_size = 6 }", 'group_size = "everyone", splits = 3 }')


def test_table_of_everyone_gives_mean_and_range_over_draws(call, city, tmp_path):
    outcome = call("expose", city(EVERYONE), "--out", "here")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("city: Of 30 people, ")
    assert "in random groups" not in outcome.out.splitlines()[0]
    assert " over 3 random draws)" in outcome.out
    assert "people drawn from this same table" in outcome.out
    assert "visits.csv: 30 people, 73 visits" in outcome.out
    with (tmp_path / "here" / "exposure.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["auxiliary_recognised_in"] for row in rows} <= {"0.000", "0.333", "0.667", "1.000"}
    summary = json.loads((tmp_path / "here" / "exposure.json").read_text())["audits"][0]
    auxiliary = summary["attackers"][1]
    found = auxiliary["recognised"]
    assert found["draws"] == 3
    assert found["smallest"] <= found["people"] <= found["largest"]
    place = auxiliary["identified"]["accuracy"].index(0.9)
    assert auxiliary["identified"]["at_least"][place] <= found["smallest"]
    assert auxiliary["identified"]["at_most"][place] >= found["largest"]


@pytest.mark.parametrize("command", [["expose"], ["run", "--dry-run"]])
def test_nobody_replaces_a_target_where_everyone_is_counted(call, city, command):
    replaced = ("group_size = 6 }", 'group_size = "everyone", relation = "replace_one" }')
    outcome = call(*command, city(replaced, ('domain = "locations"', 'domain = "locations"\nrounds = 10')))
    assert outcome.code == 2
    assert len(outcome.err.strip().splitlines()) == 1
    assert 'write relation = "add_remove"' in outcome.err


def test_dry_run_describes_the_data(call, city):
    outcome = call("run", "--dry-run", city(EVERYONE, ('name = "city"', 'name = "city"\nrounds = 10')))
    assert outcome.code == 0
    assert "Data: visits.csv: 30 people, 73 visits (a person in a place in an epoch), first 2024-05-01" in (
        outcome.out
    )
    assert "Data: visits.csv: 73 rows read: 73 kept" in outcome.out


LOG = "query,records,epsilon\nq-one,Ann;Bob,0.3\nq-two,Ann,1.0\nq-one,Ann;Bob,0.3\n"


@pytest.fixture
def log(tmp_path):
    (tmp_path / "asked.csv").write_text(LOG)
    return "asked.csv"


def test_expose_log_writes_names_to_csv_only(call, log, tmp_path):
    outcome = call("expose", "--query-log", log)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("asked: Of 2 records, 0 (0%) can be recognised by the attacker 'informed'")
    assert "Median / 95th percentile / maximum over all records:" in outcome.out
    assert "Answers that contain them: 2 / 2 / 2" in outcome.out
    assert "by sequential composition: 1.30 / 1.30 / 1.30" in outcome.out
    assert "fresh noise" in outcome.out
    assert "(the same release, counted once): 1." in outcome.out
    assert "Individuals (keep this file private): runs/asked/exposure.csv" in outcome.out
    folder = tmp_path / "runs" / "asked"
    assert {path.name for path in folder.iterdir()} == {"exposure.csv", "exposure.json", "exposure.html"}
    assert (folder / "exposure.csv").stat().st_mode & 0o777 == 0o600
    for path in folder.iterdir():
        assert (b"Ann" in path.read_bytes()) == (b"q-two" in path.read_bytes()) == (path.suffix == ".csv")
    with (folder / "exposure.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["record"], row["queries"], row["epsilon"], row["query_1"]) for row in rows] == [
        ("Ann", "2", "1.3", "q-two"),
        ("Bob", "1", "0.3", "q-one"),
    ]
    assert rows[1]["informed_accuracy"] == "0.56965"  # 1 - e^-0.15 / 2


def test_json_output_of_log_has_no_record_ids(call, log):
    outcome = call("expose", "--query-log", log, "--json", "--out", "here")
    found = json.loads(outcome.out)
    (audit,) = found["audits"]
    assert (audit["unit"], audit["people"], audit["domain"]) == ("record", 2, "queries")
    assert audit["spent"]["epsilon"]["1.0"] == pytest.approx(1.3)
    assert audit["spent"]["delta"]["1.0"] == 0.0
    assert "Ann" not in outcome.out
    assert "q-two" not in outcome.out


def test_log_page_says_records(call, log, tmp_path):
    call("expose", "--query-log", log, "--out", "here")
    text = (tmp_path / "here" / "exposure.html").read_text()
    assert "How exposed is every record?" in text
    assert "How many records could be recognised?" in text
    assert "Spent so far on the records (median / 95th percentile / maximum):" in text
    assert "would identify each record; the notes below say how" in text


def test_predicates_need_table_and_its_ids(call, tmp_path):
    (tmp_path / "asked.csv").write_text("query,where,epsilon\n1,age > 30,0.3\n")
    (tmp_path / "people.csv").write_text("number,age\n5,20\n6,40\n")
    assert "name its file (--data, in Python" in call("expose", "--query-log", "asked.csv").err
    outcome = call("expose", "--query-log", "asked.csv", "--data", "people.csv", "--id", "number")
    assert outcome.code == 0
    with (tmp_path / "runs" / "asked" / "exposure.csv").open(newline="") as file:
        rows = {row["record"]: row for row in csv.DictReader(file)}
    assert (rows["6"]["epsilon"], rows["5"]["epsilon"]) == ("0.3", "0")
    assert (rows["5"]["informed_accuracy"], rows["5"]["informed_advantage"]) == ("0.50000", "0.00000")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a plan, or add --query-log"),
        (("plan.toml", "--query-log", "asked.csv"), "instead of a plan"),
        (("--seed", "1", "--query-log", "asked.csv"), "instead of a plan"),
        (("plan.toml", "--contains", "asked.csv"), "--contains belongs to a query log"),
        (("plan.toml", "--delta", "0.1"), "--delta belongs to a query log"),
        (("--query-log", "asked.csv", "--id", "x"), "the id column is one of the table"),
        (("--query-log", "asked.csv", "--delta", "nan"), "delta must be in (0, 1)"),
        (("--query-log", "nowhere.csv"), "there is no file nowhere.csv"),
    ],
)
def test_invalid_log_options_print_one_line_and_write_nothing(call, log, tmp_path, words, said):
    outcome = call("expose", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["asked.csv"]


def test_bad_log_row_prints_one_line_and_writes_nothing(call, log, tmp_path):
    (tmp_path / "asked.csv").write_text(LOG + "q3,Ann,-1\n")
    outcome = call("expose", "--query-log", log)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "leakgauge: asked.csv, row 4: epsilon = -1.0: must be > 0 and finite\n"
    assert not (tmp_path / "runs").exists()


def test_folder_with_a_run_is_not_overwritten(call, log, plan, tmp_path):
    assert call("run", plan(), "--out", "here").code in (0, 3)
    before = {path.name for path in (tmp_path / "here").iterdir()}
    outcome = call("expose", "--query-log", log, "--out", "here")
    assert outcome.code == 2
    assert "holds a run of a plan" in outcome.err
    assert {path.name for path in (tmp_path / "here").iterdir()} == before


def test_expose_log_api_gives_same_numbers_and_writes_only_with_out(log, tmp_path):
    found = leakgauge.expose_log(log)
    assert (found.audit, found.domain) == ("asked", "queries")
    assert found.exposure.names[found.exposure.order].tolist() == ["Ann", "Bob"]
    assert found.exposure.spent.epsilon.tolist() == pytest.approx([1.3, 0.3])
    assert [path.name for path in tmp_path.iterdir()] == ["asked.csv"]
    with pytest.raises(BadInput, match="must be in"):
        leakgauge.expose_log(log, delta=2.0)


def test_run_and_expose_show_the_own_and_the_best_threshold_of_an_attacker_by_name(call, city):
    plan = "town.toml"
    Path(plan).write_text(
        """
seed = 5
[[audit]]
name = "town"
domain = "locations"
rounds = 40
data = { source = "synthetic", users = 200, sites = 9, epochs = 24, visits = 6 }
mechanism = { name = "laplace", epsilon = 1.0, round = true, clamp = true, suppress = 1 }
challenger = { splits = 1, group_size = 60, targets = { n = 3 } }
attacks = [{ name = "likelihood", knowledge = "zero" }]
"""
    )
    said = call("expose", plan)
    assert "Correct identifications" in said.out
    assert "Correct, at the best threshold" in said.out
    assert "at the threshold that the attack fixes itself" in said.out
    found = json.loads(call("expose", plan, "--json").out)["audits"][0]
    (zero,) = [one for one in found["attackers"] if one["attacker"] == "zero"]
    assert list(zero["metrics"])[:2] == ["accuracy_own", "accuracy"]  # the leading one first
    own, best = zero["metrics"]["accuracy_own"], zero["metrics"]["accuracy"]
    assert own["mean"] < best["mean"] - 0.005
    simulated = call("run", plan)
    head = next(line for line in simulated.out.splitlines() if "ε shown" in line)
    assert head.index("correct") < head.index("best threshold")
    assert "best threshold: the same at the threshold that is best for each target" in simulated.out


def test_one_number_is_shown_where_own_and_best_threshold_agree(call, city):
    plan = city(("splits = 1, group_size = 6", 'splits = 1, group_size = "everyone"'))
    found = json.loads(call("expose", plan, "--json").out)["audits"][0]
    assert {name for one in found["attackers"] for name in one["metrics"]} == {
        "accuracy",
        "auc",
        "tpr_at_fpr_0.01",
    }
