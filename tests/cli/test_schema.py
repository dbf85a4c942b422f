import json
import shutil
import subprocess
from pathlib import Path

import pytest

from leakgauge.plan_schema import plan_schema, schema_text


def test_the_schema_is_printed(call):
    code, out, _ = call("schema")
    assert code == 0
    assert json.loads(out) == plan_schema()


def test_the_schema_is_written_to_a_file(call):
    assert call("schema", "--out", "plan.schema.json").out == "Wrote plan.schema.json\n"
    assert json.loads(Path("plan.schema.json").read_text()) == plan_schema()


@pytest.mark.skipif(shutil.which("taplo") is None, reason="taplo is not installed")
def test_taplo_accepts_the_examples_and_refuses_an_unknown_key(tmp_path):
    (tmp_path / "plan.schema.json").write_text(schema_text())
    examples = sorted((Path(__file__).parents[2] / "examples").glob("*/plan.toml"))
    assert len(examples) >= 12
    for path in examples:
        text = f"#:schema ./plan.schema.json\n{path.read_text()}"
        (tmp_path / f"{path.parent.name}.toml").write_text(text)
    assert subprocess.run(["taplo", "lint", "*.toml"], cwd=tmp_path, check=False).returncode == 0
    wrong = text.replace("rounds", "ruonds", 1)
    (tmp_path / "wrong.toml").write_text(wrong)
    done = subprocess.run(
        ["taplo", "lint", "wrong.toml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "'ruonds' was unexpected" in done.stderr + done.stdout
