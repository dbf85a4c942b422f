"""Names of targets are in no file of a run folder that others can read."""

import stat

import pytest

from leakgauge import api
from leakgauge.plan import read_plan
from leakgauge.runner import manifest
from leakgauge.runner.baseline import compare_with_baseline

NAMES = ("Adaora-Okafor", "Bertrand-Lenoir")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of a plan that names its targets."""
    folder = tmp_path_factory.mktemp("plan")
    people = [*NAMES, *(f"p{i}" for i in range(60))]
    rows = [
        f"{name},2024-05-0{1 + (i + k) % 7} {8 + k % 5:02d}:00:00,place{(i * 3 + k) % 6}"
        for i, name in enumerate(people)
        for k in range(6)
    ]
    (folder / "visits.csv").write_text("\n".join(["user,time,place", *rows]) + "\n")
    (folder / "plan.toml").write_text(f"""
seed = 3
[limits]
none = true
[[audit]]
name = "named"
domain = "locations"
rounds = 40
block = 20
data = {{ source = "visits.csv", columns = {{ place = "place" }} }}
mechanism = {{ name = "laplace", epsilon = 1.0 }}
attacks = [{{ name = "likelihood", knowledge = "informed" }}]
challenger = {{ group_size = 20, targets = {{ names = ["{NAMES[0]}", "{NAMES[1]}"] }} }}
""")
    api.run(folder / "plan.toml", out=folder / "run")
    return folder


def readable_by_others(folder):
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
    ]


def test_no_file_that_others_can_read_names_a_target(folder):
    files = readable_by_others(folder / "run")
    assert {"verdicts.json", "report.html"} <= {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        assert not any(name.encode() in content for name in NAMES), path.name
    for name in ("manifest.json", "plan.toml"):
        assert stat.S_IMODE((folder / "run" / name).stat().st_mode) == 0o600
        assert NAMES[0] in (folder / "run" / name).read_text()


def test_files_stay_private_when_a_run_is_continued_and_judged_again(folder):
    text = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(text.replace("rounds = 40", "rounds = 60"))
    result = api.run(folder / "plan.toml", out=folder / "run")
    assert result.verdicts[0].rounds == 60
    assert manifest.load(folder / "run")["looks"]
    test_no_file_that_others_can_read_names_a_target(folder)


def test_plans_without_names_stay_readable(folder):
    text = (folder / "plan.toml").read_text()
    (folder / "anonymous.toml").write_text(text[: text.index("names = [")] + "n = 2 } }\n")
    assert not manifest.names_people(read_plan(folder / "anonymous.toml"))
    assert manifest.names_people(read_plan(folder / "plan.toml"))


def test_named_runs_can_be_compared(folder):
    compared = compare_with_baseline(folder / "run", folder / "run")
    assert all(name not in str(compared) for name in NAMES)
