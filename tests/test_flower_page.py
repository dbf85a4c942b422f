"""What docs/flower.md tells a reader to do, done."""

import json
import re
import tomllib
from pathlib import Path
from shutil import copytree

from leakgauge.cli.main import main
from leakgauge.domains.federated.flower_app.app_table import AppTable
from leakgauge.plan import read_plan

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "flower.md").read_text()
PLAN = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL).group(1)


def test_keys_on_the_page_are_those_of_the_table():
    section = PAGE.partition("## Keys")[2].partition("###")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"challenger"}
    assert told == set(AppTable.__dataclass_fields__)


def test_example_has_the_plan_of_the_page():
    here, there = (
        tomllib.loads(text) for text in (PLAN, (ROOT / "examples/flower-app/plan.toml").read_text())
    )
    assert [audit["challenger"] for audit in here["audit"]] == [
        audit["challenger"] for audit in there["audit"]
    ]
    assert here["limits"] == there["limits"]


def test_ten_minutes(tmp_path, capsys):
    """The plan of the page beside a project, with fewer rounds than a reader would take."""
    project = tmp_path / "project"
    copytree(ROOT / "examples" / "flower-app", project, ignore=lambda *_: {"__pycache__"})
    (project / "plan.toml").write_text(PLAN.replace("rounds = 100", "rounds = 40"))
    assert [one.attack for one in read_plan(project / "plan.toml").audits[0].contenders] == ["planted_layers"]
    code = main(["run", str(project / "plan.toml"), "--out", str(tmp_path / "run")])
    assert code == 1  # over the limit
    (verdict,) = json.loads((tmp_path / "run" / "verdicts.json").read_text())["verdicts"]
    assert verdict["risk"]["status"] == "over"
    assert verdict["instrument"]["control"]["status"] == "passed"
    assert verdict["metrics"]["accuracy_own"]["low"] > 0.8
    assert "crafted weights are in fc1 and fc2 and fc3" in capsys.readouterr().out
