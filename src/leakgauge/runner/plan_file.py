"""The plan as a file in its run folder."""

import datetime
import json
import tomllib
from dataclasses import asdict
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.plan import Plan


def text_of(plan: Plan) -> str:
    """Return the file a plan was read from, as it was; or write one for a plan made in Python."""
    if plan.text is None:
        return to_toml(plan)
    return f"# played with --seed {plan.seed}\n{plan.text}" if has_other_seed(plan) else plan.text


def has_other_seed(plan: Plan) -> bool:
    """Whether the seed is not the one in the plan's file."""
    return plan.text is not None and tomllib.loads(plan.text).get("seed", 0) != plan.seed


def to_toml(plan: Plan) -> str:
    """Write a plan as a file that reads back as the same audits."""
    lines = [f"seed = {plan.seed}"]
    for audit in plan.audits:
        table = asdict(audit)
        del table["contenders"]
        table["attacks"] = [
            {
                "name": contender.attack,
                "knowledge": {"name": contender.knowledge, **contender.knowledge_parameters},
                "label": contender.label,
                **contender.attack_parameters,
            }
            for contender in audit.contenders
        ]
        lines += [
            "",
            "[[audit]]",
            *(f"{key} = {_toml(value)}" for key, value in table.items() if value != {}),
        ]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            pairs = (f"{_toml(key)} = {_toml(item)}" for key, item in value.items() if item is not None)
            return "{ " + ", ".join(pairs) + " }"
        case list() | tuple():
            return "[" + ", ".join(_toml(item) for item in value) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            raise BadInput(f"a plan cannot hold {value!r}; use numbers, strings, lists and tables")
