import json
from pathlib import Path

from leakgauge.plan_schema import plan_schema


def test_the_schema_is_printed(call):
    code, out, _ = call("schema")
    assert code == 0
    assert json.loads(out) == plan_schema()


def test_the_schema_is_written_to_a_file(call):
    assert call("schema", "--out", "plan.schema.json").out == "Wrote plan.schema.json\n"
    assert json.loads(Path("plan.schema.json").read_text()) == plan_schema()
