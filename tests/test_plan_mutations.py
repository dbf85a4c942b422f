"""Every key of every example plan with wrong values: accepted, or refused in one clear line."""

import tomllib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.plan import plan_of
from leakgauge.runner.run import set_up_run

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/plan.toml"))
COSTLY = ("federated-clients", "flower-app")  # generated rows take long, and so does starting Flower
CHEAP = [name for name in NAMES if name not in COSTLY]
SMALL = {"users": 200, "sites": 6, "epochs": 24, "records": 50, "rows": 200, "features": 6}
SMALLER = {"group_size": 40, "members": 40, "batch": 10, "targets": 4, "epochs": 1}
ABSENT, UNKNOWN = "no such key", "an unknown key"
WRONG: tuple[Any, ...] = ("x", -1, 10**18, 10**30, float("nan"), True, [], {"x": 1}, ABSENT, UNKNOWN)


def example(name: str) -> dict[str, Any]:
    """The first audit of an example, with two attacks and little data."""
    plan = tomllib.loads((EXAMPLES / name / "plan.toml").read_text())
    plan["audit"] = plan["audit"][:1]
    for audit in plan["audit"]:
        if "attacks" in audit:
            audit["attacks"] = audit["attacks"][-2:]
        audit["challenger"].pop("utility", None)
        audit["rounds"] = min(audit.get("rounds", 20), 20)
        for table, sizes in (("data", SMALL), ("challenger", SMALLER)):
            audit[table] = {
                key: sizes.get(key, value) if isinstance(value, int) else value
                for key, value in audit.get(table, {}).items()
            }
        if "targets" in audit["challenger"]:
            audit["challenger"]["targets"] = 1 if audit["domain"] == "queries" else 4
        audit.get("sweep", {}).pop("mechanism.epsilon", None)
    return plan


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all keys and entries."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(inside)[: 2 if isinstance(value, list) else None]:
        yield (*path, key)
        yield from places(item, (*path, key))


def mutated(plan: dict[str, Any], path: tuple[Any, ...], wrong: Any) -> dict[str, Any]:
    plan = deepcopy(plan)
    table: Any = plan
    for key in path[:-1]:
        table = table[key]
    if wrong is ABSENT:
        del table[path[-1]]
    elif wrong is UNKNOWN and isinstance(table, dict):
        table["zzz"] = 1
    else:
        table[path[-1]] = deepcopy(wrong)
    return plan


def refusal(plan: dict[str, Any], folder: Path) -> str | None:
    """The message by which a plan is refused; nothing if it is accepted."""
    try:
        set_up_run(plan_of(plan, folder=folder))
    except BadInput as error:
        return str(error)
    return None


def check_example(name: str, share: int) -> None:
    """Try each of the wrong values at every ``share``-th place."""
    plan, folder = example(name), EXAMPLES / name
    assert refusal(plan, folder) is None
    messages = {}
    for number, path in enumerate(places(plan)):
        for wrong in WRONG[number % share :: share]:
            messages[path, repr(wrong)] = refusal(mutated(plan, path, wrong), folder)
    refused = [message for message in messages.values() if message is not None]
    for message in refused:
        assert message
        assert "\n" not in message
        assert len(message) < 600
    accepted = [place for place, message in messages.items() if message is None]
    assert not [path for path, wrong in accepted if wrong == repr(UNKNOWN) and isinstance(path[-1], str)]
    assert len(refused) > len(accepted)


@pytest.mark.parametrize("name", CHEAP)
def test_wrong_values_are_refused_in_one_line(name):
    check_example(name, share=3)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_all_wrong_values_are_refused_in_one_line(name):
    check_example(name, share=1)
