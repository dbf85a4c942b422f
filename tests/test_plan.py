import datetime
import re
import tomllib
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leakgauge.domains
from leakgauge.core.errors import BadInput
from leakgauge.plan import Contender, MetricsTable, Stop, plan_of, plan_without_rounds, read_plan, to_toml

AUDIT = """
[[audit]]
name = "a"
domain = "coin"
"""

FULL = """
seed = 20240501

[[audit]]
name = "city-by-hour"
domain = "coin"
rounds = 300
block = 100
stop = "decided"
data = { source = "synthetic", users = 5000, window = ["2013-11-01", "2013-11-08"], since = 2013-11-01 }
mechanism = { name = "laplace", epsilon = 1.0, round = true }
sweep = { "mechanism.epsilon" = [0.5, 1.0], "mechanism.suppress" = [0, 1] }
metrics = { epsilon = "clopper_pearson", confidence = 0.9 }
attacks = [
  { name = "peek", knowledge = "little" },
  { name = "sleep", knowledge = { name = "nothing", trace = 0.1 }, label = "sleep-10", depth = 3 },
]

[audit.challenger]
group_size = 1000
targets = { n = 50, choose = "random" }
"""


EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*/plan.toml"))


@pytest.fixture(autouse=True, scope="module")
def _coins():
    domains = Path(__file__).parent / "runner" / "domains"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leakgauge.domains, "__path__", [*leakgauge.domains.__path__, str(domains)])
        yield


@pytest.fixture
def read(tmp_path):
    def write(text, **options):
        path = tmp_path / "plan.toml"
        path.write_text(text, encoding="utf-8")
        return read_plan(path, **options)

    return write


def test_short_plan_has_defaults(read, tmp_path):
    plan = read(AUDIT)
    [audit] = plan.audits
    assert plan.seed == 0
    assert plan.folder == tmp_path.resolve()
    assert (audit.rounds, audit.block, audit.stop, audit.metrics) == (2000, 1000, Stop.ROUNDS, MetricsTable())
    assert audit.data == audit.challenger == audit.mechanism == {}
    assert audit.contenders == (Contender(attack="peek", knowledge="nothing", label="peek-nothing"),)


def test_full_plan_is_read(read):
    plan = read(FULL)
    assert plan.seed == 20240501
    assert [audit.name for audit in plan.audits] == [
        f"city-by-hour@epsilon={epsilon},suppress={suppress}" for epsilon in (0.5, 1.0) for suppress in (0, 1)
    ]
    audit = plan.audits[1]
    assert audit.mechanism == {"name": "laplace", "epsilon": 0.5, "round": True, "suppress": 1}
    assert audit.challenger == {"group_size": 1000, "targets": {"n": 50, "choose": "random"}}
    assert audit.stop is Stop.DECIDED
    assert audit.metrics == MetricsTable(epsilon="clopper_pearson", confidence=0.9)
    assert audit.contenders == (
        Contender(attack="peek", knowledge="little", label="peek-little"),
        Contender(
            attack="sleep",
            knowledge="nothing",
            label="sleep-10",
            attack_parameters={"depth": 3},
            knowledge_parameters={"trace": 0.1},
        ),
    )


def test_seed_can_be_overridden(read):
    assert read(FULL, seed=3).seed == 3


def test_metric_can_be_swept(read):
    plan = read(AUDIT + "sweep = { metrics.confidence = [0.9, 0.99] }")
    assert [audit.metrics.confidence for audit in plan.audits] == [0.9, 0.99]


def test_plan_without_rounds_reads_the_rest(read):
    plan = read(FULL)
    longer = read(FULL.replace("rounds = 300", "rounds = 900"))
    assert plan_without_rounds(plan) == plan_without_rounds(longer)
    for old, new in [
        ("seed = 20240501", "seed = 1"),
        ("block = 100", "block = 10"),
        ("users = 5000", "users = 5001"),
        ("round = true", "round = false"),
        ("confidence = 0.9", "confidence = 0.95"),
        ("depth = 3", "depth = 4"),
        ("trace = 0.1", "trace = 0.2"),
        ("sleep-10", "sleep-11"),
        ('"decided"', '"rounds"'),
        ("n = 50", "n = 51"),
    ]:
        assert old in FULL
        assert plan_without_rounds(read(FULL.replace(old, new))) != plan_without_rounds(plan), old


def test_plan_file_round_trips(read, tmp_path):
    text = FULL.replace('"synthetic"', r'"tab\t \"quoted\" back\\slash \u007f città"')
    plan = read(text)
    (tmp_path / "again.toml").write_text(to_toml(plan), encoding="utf-8")
    again = read_plan(tmp_path / "again.toml")
    assert (again.seed, again.audits) == (plan.seed, plan.audits)


def reread(plan):
    """Write a plan as TOML and read it back; what is known of a file is left out."""
    return plan_of(tomllib.loads(to_toml(plan)), folder=plan.folder)


def without_file(plan):
    return replace(plan, path=None, text=None)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_examples_round_trip_as_toml(path):
    plan = read_plan(path)
    assert plan.audits
    assert reread(plan) == without_file(plan)


def test_examples_include_plans_with_and_without_sweep():
    swept = ["@" in audit.name for path in EXAMPLES for audit in read_plan(path).audits]
    assert any(swept)
    assert not all(swept)


VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"))
    | st.dates()
    | st.times()
    | st.datetimes(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TABLE = st.dictionaries(st.text(max_size=8), VALUES, max_size=4)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=TABLE, challenger=TABLE, attack=TABLE, knowledge=TABLE, seed=st.integers(0, 2**63 - 1))
def test_generated_plans_round_trip_as_toml(data, challenger, attack, knowledge, seed):
    chosen = {"name": "peek", "knowledge": {**knowledge, "name": "little"}, "label": "one"}
    table = {
        "seed": seed,
        "audit": [
            {
                "name": "a",
                "domain": "coin",
                "data": data,
                "challenger": challenger,
                "attacks": [{**attack, **chosen}],
            }
        ],
    }
    plan = plan_of(table)
    assert plan.audits[0].data == data
    assert reread(plan) == plan


def test_dict_equals_file(read, tmp_path):
    plan = read(FULL)
    again = plan_of(tomllib.loads(FULL), folder=tmp_path)
    assert again == without_file(plan)
    assert plan_without_rounds(again) == plan_without_rounds(plan)


def test_dict_may_hold_python_values():
    class Choice(StrEnum):
        RANDOM = "random"

    data = {
        "epsilon": np.float64(0.5),
        "users": np.int64(7),
        "grid": (10, 10),
        "source": Path("visits.csv"),
        "choose": Choice.RANDOM,
        "since": datetime.date(2013, 11, 1),
    }
    plan = plan_of({"audit": ({"name": "a", "domain": "coin", "data": data},)})
    found = plan.audits[0].data
    assert found == {**data, "grid": [10, 10], "source": "visits.csv"}
    assert [type(value) for value in found.values()] == [float, int, list, str, str, datetime.date]
    assert reread(plan) == plan


def test_dict_is_copied():
    data = {"sites": [1, 2]}
    plan = plan_of({"audit": [{"name": "a", "domain": "coin", "data": data}]})
    data["sites"].append(3)
    assert plan.audits[0].data == {"sites": [1, 2]}


def test_plan_from_dict_uses_current_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = {"audit": [{"name": "a", "domain": "coin"}]}
    assert plan_of(table).folder == tmp_path.resolve()
    assert plan_of(table, folder="elsewhere").folder == tmp_path.resolve() / "elsewhere"
    assert (plan_of(table).path, plan_of(table).text) == (None, None)


def test_seed_of_dict_can_be_overridden():
    table = {"seed": 1, "audit": [{"name": "a", "domain": "coin"}]}
    assert (plan_of(table).seed, plan_of(table, seed=3).seed) == (1, 3)
    with pytest.raises(BadInput, match=r"^plan: seed must be a whole number in 0"):
        plan_of(table, seed=-1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"plan\.audit\[0\]\.data\.x: a plan cannot hold None; use numbers, strings"),
        ([1, {2, 3}], r"plan\.audit\[0\]\.data\.x\[1\]: a plan cannot hold \{2, 3\}"),
        ({"y": {1: 2}}, r"plan\.audit\[0\]\.data\.x\.y: keys must be strings, got 1"),
    ],
)
def test_dict_rejects_values_a_file_cannot_hold(value, message):
    with pytest.raises(BadInput, match=f"^{message}"):
        plan_of({"audit": [{"name": "a", "domain": "coin", "data": {"x": value}}]})


def test_rejects_non_dict():
    with pytest.raises(BadInput, match=r"^plan: must be a dict of the same shape as a plan file, got list"):
        plan_of([])


WRONG = [
    ("", "no audit in it; a file has [[audit]] once per audit"),
    ("[limits]\naccuracy = 0.6", "this is a policy; a plan has [[audit]] once per audit"),
    ("audit = []", "no audit in it; a file has [[audit]] once per audit"),
    ("[audit]\nname = 'a'", "a file has [[audit]], with two brackets"),
    ("audit = 3", ": audit: must be a list, got 3"),
    ("seed = 1\n[limits]\naccuracy = 0,6", "0,6 is not a number there; write 0.6"),
    ("seed = 1\n[limits]\naccuracy = 60% # most", "60% is not a number there; write 0.6"),
    ("seed = 1\nblock = = 2", "not valid TOML: Invalid value (at line 2, column 9)"),
    ("sed = 1" + AUDIT, "no key is called 'sed'; did you mean 'seed'?"),
    ("seed = '1'" + AUDIT, ": seed: must be a whole number, got '1'"),
    ("seed = -1" + AUDIT, "seed must be a whole number in 0..2^63-1, got -1"),
    ("seed = true" + AUDIT, ": seed: must be a whole number, got True"),
    ("[[audit]]\ndomain = 'coin'", "audit number 1: 'name' is missing; add name = ..."),
    ("[[audit]]\nname = 'a'", "audit 'a': 'domain' is missing"),
    ("[[audit]]\nname = 3\ndomain = 'coin'", "audit number 1.name: must be a string, got 3"),
    ("[[audit]]\nname = 'a'\ndomain = 'coins'", "no domain is called 'coins'; did you mean 'coin'?"),
    (AUDIT + "roundz = 3", "audit 'a': no key is called 'roundz'; did you mean 'rounds'?"),
    (AUDIT + "rounds = 2.5", "audit 'a'.rounds: must be a whole number, got 2.5"),
    (AUDIT + "rounds = 0", "audit 'a': rounds must be in 1..1000000000, got 0"),
    (AUDIT + "rounds = 1000000001", "rounds must be in 1..1000000000"),
    (AUDIT + "block = -5", "block must be in 1..1000000000, got -5"),
    (AUDIT + "stop = 'decide'", "audit 'a'.stop: no choice is called 'decide'; did you mean 'decided'?"),
    (AUDIT + "data = 'x.csv'", "audit 'a'.data: must be a table, got 'x.csv'"),
    (AUDIT + "mechanism = 'laplace'", "audit 'a'.mechanism: must be a table, got 'laplace'"),
    (
        AUDIT + "metrics = { confidense = 0.9 }",
        "no key is called 'confidense'; did you mean 'confidence'?",
    ),
    (
        AUDIT + "metrics = { confidence = 95 }",
        "confidence must be in [0.5, 1 - 1e-9], got 95.0",
    ),
    (AUDIT + "metrics = { confidence = nan }", "confidence must be in [0.5, 1 - 1e-9], got nan"),
    (
        AUDIT + "metrics = { epsilon = 'one_rum' }",
        "no metric of epsilon is called 'one_rum'; did you mean 'one_run'?",
    ),
    (AUDIT + "metrics = { assume = 'laplace' }", "no assumption is called 'laplace'; known: gaussian"),
    (AUDIT + "attacks = 'peek'", "audit 'a'.attacks: must be a list, got 'peek'"),
    (AUDIT + "attacks = []", "audit 'a'.attacks: the list is empty"),
    (AUDIT + "attacks = [3]", "audit 'a'.attacks[0]: must be a table, got 3"),
    (
        AUDIT + "attacks = ['peak']",
        "attacks[0].name: no attack on coin is called 'peak'; did you mean 'peek'?",
    ),
    (AUDIT + "attacks = [{ label = 'x' }]", "attacks[0]: 'name' is missing"),
    (AUDIT + "attacks = [{ name = 3 }]", "attacks[0].name: must be a string, got 3"),
    (
        AUDIT + "attacks = [{ name = 'peek', knowledge = 'litle' }]",
        "attacks[0].knowledge: no knowledge of coin is called 'litle'; did you mean 'little'?",
    ),
    (
        AUDIT + "attacks = [{ name = 'peek', knowledge = {} }]",
        "knowledge: 'name' is missing; one of nothing, little",
    ),
    (
        AUDIT + "attacks = [{ name = 'peek', knowledge = 7 }]",
        "attacks[0].knowledge: must be a table, got 7",
    ),
    (
        AUDIT + "attacks = ['peek', 'peek']",
        "two are called 'peek-nothing'; give one a label = ... of its own",
    ),
    (
        AUDIT + "attacks = ['peek', { name = 'sleep', label = 'PEEK-nothing' }]",
        "two are called 'PEEK-nothing'",
    ),
    (AUDIT + "attacks = [{ name = 'peek', label = '../x' }]", "attacks[0].label: '../x' names a folder"),
    (AUDIT + "attacks = [{ name = 'peek', label = 3 }]", "attacks[0].label: must be a string, got 3"),
    (AUDIT + AUDIT, "two audits are called 'a'; their names must differ"),
    (AUDIT + AUDIT.replace("'a'", "'A'").replace('"a"', '"A"'), "two audits are called 'A'"),
    (AUDIT + "sweep = { rounds = [1, 2] }", "audit 'a'.sweep: 'rounds' cannot be swept"),
    (AUDIT + "sweep = [1]", "audit 'a'.sweep: must be a table, got [1]"),
    (AUDIT + "sweep = { data.x = [1, 1] }", "two audits are called 'a@x=1'"),
    (AUDIT + "sweep = { data.x = ['a/b', 'a b'] }", "two audits are called 'a@x=a-b'"),
    (
        AUDIT + "sweep = { metrics.confidence = [0.9, 2.0] }",
        "audit 'a@confidence=2.0'.metrics: confidence must be in",
    ),
    (AUDIT + f"sweep = {{ data.x = ['{'y' * 300}'] }}", "is over 200 characters; shorten it"),
]


NOT_TOML = [
    ("[limits]\n[limits]\n", "the table [limits] is there twice (at line 2, column 8); write all its keys"),
    ("seed = 1\nseed = 2\nblock = 3\n", "'seed' is given twice (at line 2, column 9); delete one of the two"),
    ("seed = 1\nseed = 2", "'seed' is given twice"),
    ("[[audit]]\nname = laplace # x", 'Invalid value (at line 2, column 8); write it in quotes: "laplace"'),
    ("a = { name = laplace, b = 1 }", 'write it in quotes: "laplace"'),
    ("knowledge = informed", 'write it in quotes: "informed"'),
    ("epoch = 1d", 'write it in quotes: "1d"'),
    ("in_sample = True", "write true"),
    ('name = "x\nseed = 1', "close the quotes in that line"),
]


@pytest.mark.parametrize(("text", "message"), [*WRONG, *NOT_TOML])
def test_plan_errors_are_one_line(read, text, message):
    with pytest.raises(BadInput) as caught:
        read(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "plan.toml" in str(caught.value)


@pytest.mark.parametrize(
    "text", [text for text, message in WRONG if not re.search("not valid TOML|not a number there", message)]
)
def test_dict_errors_match_file_errors(read, tmp_path, text):
    table = tomllib.loads(text)
    with pytest.raises(BadInput) as of_file:
        read(text)
    with pytest.raises(BadInput) as of_dict:
        plan_of(table)
    assert str(of_dict.value) == str(of_file.value).replace(str(tmp_path / "plan.toml"), "plan")


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "-x", "a/b", "a\\\\b", "a b", "città", "a\\nb", "x" * 201]
)
def test_rejects_names_invalid_as_folder(read, name):
    with pytest.raises(BadInput, match="names a folder: use 1 to 200 letters"):
        read(f'[[audit]]\nname = "{name}"\ndomain = "coin"')


def test_invalid_file_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such plan file"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(BadInput, match="cannot be read"):
        read_plan(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe0'")
    with pytest.raises(BadInput, match="not a text file in UTF-8"):
        read_plan(tmp_path / "latin.toml")


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_overriding_seed_is_validated(read, seed):
    with pytest.raises(BadInput, match="seed must be a whole number in 0"):
        read(AUDIT, seed=seed)


def test_rejects_too_many_files_per_folder(tmp_path):
    (tmp_path / "plan.toml").write_text(
        '[[audit]]\nname = "a"\ndomain = "blackbox"\nrounds = 1000000000\nblock = 1\n'
    )
    with pytest.raises(BadInput, match="make too many files; raise block"):
        read_plan(tmp_path / "plan.toml")
