"""The pipelines on the page about the gate run, command by command."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from leakgauge.limits import read_limits, read_policy
from leakgauge.plan import plan_of

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "gate.md").read_text()


def shell_steps(name):
    """The shell commands of one of the pipelines, without the installation."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if name in block]
    lines = re.findall(r"^\s*(?:- run: |- |run: )((?:leakgauge|cat) .*)$", block, re.MULTILINE)
    assert len(lines) >= 2
    return lines


@pytest.mark.nightly
def test_a_pipeline_decides_and_writes_its_files(tmp_path):
    lines = shell_steps("privacy.yml")
    assert shell_steps(".gitlab-ci.yml") == lines[:2]  # so it does the same, without a summary
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    plan = tmp_path / "examples" / "noisy-count" / "plan.toml"
    few = 'rounds = 400\nattacks = [{ name = "learned_event", shadows = 2_000 }]'
    plan.write_text(re.sub(r"^rounds = .*", few, plan.read_text(), flags=re.MULTILINE))
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    codes = [
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, check=False).returncode
        for line in lines
    ]
    assert codes[0] == 0  # the audit itself does not end the job
    assert codes[1] == 1  # a promise of this example is broken
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")
    assert "Promise broken" in (tmp_path / "gate.md").read_text()
    assert (tmp_path / "summary.md").read_text() == (tmp_path / "gate.md").read_text()


def test_the_plan_and_the_policy_on_the_page_are_valid():
    (block,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    table = tomllib.loads(block)
    attacks = [{"name": "likelihood", "knowledge": "informed"}]
    audit = {"name": "city", "domain": "locations", "attacks": attacks}
    plan = plan_of({**table, "audit": [audit]})
    assert plan.limits == read_limits(table["limits"], "page")
    assert read_policy(ROOT / "examples" / "policy.toml").metrics["accuracy"] == 0.6
