"""Audits of data frames: the finding of the command line, and nobody's data in any file."""

import csv
import gc
import json
import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest

import leakgauge
from leakgauge import BadInput
from leakgauge.cli.main import main
from leakgauge.limits import Limits
from leakgauge.plan import plan_of, to_toml
from leakgauge.runner.run_verdicts import read_verdicts
from night import others_at_night

SECRET = "Rumpelstilzchen"  # a name that no file may hold
LAPLACE = {"name": "laplace", "epsilon": 1.0, "unit": "event"}
ATTACKS = [{"name": "likelihood", "knowledge": "informed"}]  # the fastest one


def visits(n=900, people=90, seed=1):
    rng = np.random.default_rng(seed)
    hours = rng.integers(24, size=n)
    return {
        "who": [f"{SECRET}-{person}" for person in rng.integers(people, size=n)],
        "zone": [f"zone {place}" for place in rng.integers(8, size=n)],
        "when": [f"2024-05-06 {hour:02d}:15:00" for hour in hours],
    }


VISIT_COLUMNS = {"user": "who", "place": "zone", "time": "when"}
CELLS = {
    "user": [f"p{i}" for i in range(60) for _ in range(4)],
    "snp": [(i * k) % 11 for i in range(60) for k in (1, 2, 3, 5)],
}


def people_records(n=120):
    return {
        "id": list(range(n)),
        "age": [20 + i % 50 for i in range(n)],
        "name": [f"{SECRET} {i}" for i in range(n)],
    }


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def write_csv(columns, path="rows.csv"):
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])


CASES = {
    "visits": (
        lambda **more: leakgauge.audit_counts(
            visits(),
            columns=VISIT_COLUMNS,
            mechanism=LAPLACE,
            targets=4,
            data={"epoch": "2h"},
            rounds=40,
            seed=5,
            attacks=ATTACKS,
            **more,
        ),
        visits,
        {
            "name": "counts",
            "domain": "locations",
            "data": {"source": "rows.csv", "columns": VISIT_COLUMNS, "epoch": "2h"},
            "challenger": {"group_size": "everyone", "targets": 4},
            "mechanism": LAPLACE,
            "rounds": 40,
            "attacks": ATTACKS,
        },
    ),
    "cells": (
        lambda **more: leakgauge.audit_counts(
            CELLS,
            columns={"user": "user", "cell": "snp"},
            mechanism=LAPLACE,
            targets=3,
            rounds=40,
            seed=5,
            attacks=ATTACKS,
            **more,
        ),
        lambda: CELLS,
        {
            "name": "counts",
            "domain": "locations",
            "data": {"source": "rows.csv", "columns": {"user": "user", "cell": "snp"}},
            "challenger": {"group_size": "everyone", "targets": 3},
            "mechanism": LAPLACE,
            "rounds": 40,
            "attacks": ATTACKS,
        },
    ),
    "records": (
        lambda **more: leakgauge.audit_queries(
            people_records(),
            mechanism={"name": "laplace", "epsilon": 0.3},
            query={"where": "age < 40"},
            budget=3.0,
            rounds=60,
            seed=5,
            **more,
        ),
        people_records,
        {
            "name": "answers",
            "domain": "queries",
            "data": {"source": "rows.csv"},
            "challenger": {"query": {"where": "age < 40"}, "budget": 3.0, "targets": 1},
            "mechanism": {"name": "laplace", "epsilon": 0.3},
            "rounds": 60,
        },
    ),
}


def comparable(result):
    """A result without the name of the source, and what verdicts.json does not hold."""
    found = [json.loads(json.dumps(vars(one), default=vars)) for one in result]
    for one in found:
        one["parameters"]["data"].pop("source")
        one["risk"].pop("by_limit")
    return found


@pytest.mark.parametrize("case", others_at_night(CASES, "visits"))
def test_python_and_the_command_line_find_the_same(case, capsys):
    audit, rows, table = CASES[case]
    limits = {"accuracy": 0.6}
    here = audit(limits=limits)
    write_csv(rows())
    plan = plan_of({"seed": 5, "limits": limits, "audit": [{**table, "block": 250}]})
    Path("plan.toml").write_text(to_toml(plan))
    code = main(["run", "plan.toml", "--out", "out"])
    there = read_verdicts(Path("out"))
    assert comparable(here) == comparable(there)
    assert here.summary == there.summary
    assert here.summary.exit_code == code


@pytest.mark.parametrize("library", others_at_night(["pandas", "polars"], "polars"))
def test_every_library_gives_the_same_finding(library):
    frame = pytest.importorskip(library).DataFrame(people_records())
    found = leakgauge.audit_queries(
        frame, mechanism={"name": "laplace", "epsilon": 0.3}, budget=3.0, rounds=40
    )
    as_dict = leakgauge.audit_queries(
        people_records(), mechanism={"name": "laplace", "epsilon": 0.3}, budget=3.0, rounds=40
    )
    assert found == as_dict


def files_below(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file()]


@pytest.mark.parametrize("case", others_at_night(["visits", "records"], "records"))
def test_no_file_holds_data_and_the_temporary_folder_goes_with_the_result(case, tmp_path):
    result = CASES[case][0]()
    temporary = tmp_path / "temporary"
    (folder,) = temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert files_below(folder)
    result.save_report("report.html")
    for path in (*files_below(temporary), Path("report.html")):
        assert SECRET.encode() not in path.read_bytes()
    assert SECRET not in result._repr_html_()
    del result
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_mistake_leaves_nothing_behind(tmp_path):
    with pytest.raises(
        BadInput, match=r"has no columns 'user', 'time' and 'place'; it has who, zone, when\. Map"
    ):
        leakgauge.audit_counts(visits(), mechanism=LAPLACE)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_run_folder_keeps_trials_and_report_and_is_continued_by_the_same_call(tmp_path):
    first = CASES["records"][0](out="kept")
    assert {"verdicts.json", "report.html", "plan.toml"} <= {path.name for path in Path("kept").iterdir()}
    assert CASES["records"][0](out="kept") == first
    assert main(["run", "kept/plan.toml", "--out", "other"]) == 2
    assert not Path("other").exists()


def test_check_judges_as_the_limits_of_the_call_do():
    result = CASES["records"][0]()
    for limits in ({"accuracy": 0.55},):
        assert result.check(limits) == CASES["records"][0](limits=limits).summary
    assert result.check(Limits(metrics={"accuracy": 0.55})) == result.check({"accuracy": 0.55})
    with pytest.raises(BadInput, match=r"attackers: no attacker of this plan is called 'nobody'"):
        result.check({"accuracy": 0.6, "attackers": ["nobody"]})


@pytest.mark.parametrize("sparse", others_at_night([False, True], True))
def test_an_array_of_people_and_cells_is_the_same_as_its_rows(sparse):
    from scipy.sparse import csr_array

    matrix = (np.random.default_rng(3).random((50, 9)) < 0.3).astype(int)
    person, cell = np.nonzero(matrix)
    rows = {"person": person, "cell": cell}
    settings = {"mechanism": LAPLACE, "targets": 3, "rounds": 40, "attacks": ATTACKS}
    found = leakgauge.audit_counts(csr_array(matrix) if sparse else matrix, **settings)
    assert found == leakgauge.audit_counts(rows, columns={"user": "person", "cell": "cell"}, **settings)


def test_an_array_with_an_entry_of_two_has_values():
    matrix = np.random.default_rng(3).integers(3, size=(40, 6))
    found = leakgauge.audit_counts(matrix, mechanism=LAPLACE, targets=2, rounds=30, attacks=ATTACKS)
    assert found[0].parameters["data"]["columns"]["value"] == "value"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: leakgauge.audit_counts([1, 2], mechanism=LAPLACE), "frame: must be a data frame of pandas"),
        (lambda: leakgauge.audit_counts(np.array([[0.5]]), mechanism=LAPLACE), "each count: 0, 1 or 2"),
        (lambda: leakgauge.audit_counts(np.eye(3), mechanism=LAPLACE, columns={}), "no named columns"),
        (lambda: leakgauge.audit_counts(None, mechanism=LAPLACE), "visits: None is no data; give a frame"),
        (lambda: leakgauge.audit_queries(None, mechanism=LAPLACE), "records: None is no data; give a frame"),
        (
            lambda: leakgauge.audit_counts(visits(), mechanism=LAPLACE, columns="who"),
            "columns: must be a dict of what each column means, .* got 'who'",
        ),
        (
            lambda: leakgauge.audit_counts(
                visits(), mechanism=LAPLACE, columns={**VISIT_COLUMNS, "user": "x"}
            ),
            "the frame has no column 'x'",
        ),
        (lambda: leakgauge.audit_counts("no.csv", mechanism=LAPLACE), "there is no file 'no.csv'"),
        (lambda: leakgauge.audit_counts(visits(), mechanism="laplace"), "mechanism: must be a dict"),
        (
            lambda: leakgauge.audit_counts(visits(), mechanism=LAPLACE, data={"source": "x"}),
            "leave it out of data",
        ),
        (
            lambda: leakgauge.audit_counts(visits(), mechanism=LAPLACE, challenger={"targets": 3}),
            "challenger.targets: is an argument of its own",
        ),
        (
            lambda: leakgauge.audit_counts(visits(), mechanism=LAPLACE, attacks="likelihood"),
            "attacks: must be a list",
        ),
        (lambda: leakgauge.audit_counts(visits(), mechanism=LAPLACE, workers=0), "workers"),
        (lambda: leakgauge.audit_counts(visits(), mechanism=LAPLACE, rounds=0), "rounds must be in"),
        (
            lambda: leakgauge.audit_queries(
                people_records(), mechanism={"name": "laplace", "epsilon": 1.0}, service="http://127.0.0.1:1"
            ),
            "set own_service = true",
        ),
        (lambda: leakgauge.audit_queries(people_records(), mechanism={}), "mechanism: 'name' is missing"),
    ],
)
def test_wrong_arguments_get_one_line(call, message, tmp_path):
    with pytest.raises(BadInput, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_bad_rows_of_a_frame_are_named_by_number_without_their_content():
    rows = visits(40)
    rows["when"][6] = f"{SECRET} o'clock"
    with pytest.raises(
        BadInput, match=r"1 of 40 rows of the frame are bad \(time: 1\), first row 7 \(time not a time\)"
    ) as caught:
        leakgauge.audit_counts(rows, columns=VISIT_COLUMNS, mechanism=LAPLACE)
    assert SECRET not in str(caught.value)
