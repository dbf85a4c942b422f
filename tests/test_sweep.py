import pytest

from leakgauge.core.errors import BadInput
from leakgauge.sweep import sweep_points

TABLES = {"data": {"source": "x"}, "mechanism": {"epsilon": 9.0}, "challenger": {}, "metrics": {}}


def test_sweep_is_cartesian_product():
    found = list(sweep_points({"mechanism.epsilon": [0.5, 1.0], "mechanism.suppress": [0, 1]}, TABLES, ""))
    assert [name for name, _ in found] == [
        "@epsilon=0.5,suppress=0",
        "@epsilon=0.5,suppress=1",
        "@epsilon=1.0,suppress=0",
        "@epsilon=1.0,suppress=1",
    ]
    assert found[3][1] == {**TABLES, "mechanism": {"epsilon": 1.0, "suppress": 1}}


def test_plan_without_sweep_is_one_point():
    assert list(sweep_points({}, TABLES, "")) == [("", TABLES)]


def test_sweep_points_share_no_state():
    first, second = (point for _, point in sweep_points({"data.box": [[1], [2]]}, TABLES, ""))
    first["data"]["box"].append(3)
    first["mechanism"]["epsilon"] = 0.0
    assert second == {**TABLES, "data": {"source": "x", "box": [2]}}
    assert TABLES["mechanism"] == {"epsilon": 9.0}


def test_ambiguous_sweep_keys_are_written_in_full():
    [(name, _)] = sweep_points(
        {"data.n": [1], "challenger.targets.n": [2], "metrics.confidence": [0.9]}, TABLES, ""
    )
    assert name == "@data.n=1,challenger.targets.n=2,confidence=0.9"


def test_sweep_keys_reach_nested_tables():
    [(_, point)] = sweep_points({"challenger.targets.n": [2]}, TABLES, "")
    assert point["challenger"] == {"targets": {"n": 2}}


def test_quoted_and_unquoted_sweep_keys_are_equal():
    assert list(sweep_points({"mechanism": {"epsilon": [1]}}, TABLES, "")) == list(
        sweep_points({"mechanism.epsilon": [1]}, TABLES, "")
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"),
        (1.5, "1.5"),
        (1e-5, "1e-05"),
        ("a b/../c", "a-b-..-c"),
        ([10, 20], "10x20"),
        (-1, "-1"),
    ],
)
def test_sweep_values_are_valid_in_folder_names(value, written):
    [(name, _)] = sweep_points({"data.x": [value]}, TABLES, "")
    assert name == f"@x={written}"


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (
            {"rounds": [1, 2]},
            "'rounds' cannot be swept; a key begins with data, mechanism, challenger, metrics",
        ),
        ({"attack.name": ["a"]}, "cannot be swept"),
        ({"mechanism": [1]}, "cannot be swept"),
        ({"mechanism.": [1]}, "cannot be swept"),
        ({"mechanism..epsilon": [1]}, "cannot be swept"),
        ({"mechanism.epsilon": 1.0}, "must be a list of values, got 1.0"),
        ({"mechanism.epsilon": []}, r"must be a list of values, got \[\]"),
        ({"data.source.path": ["a"]}, "data.source is 'x'; make it a table"),
        ({"data.a": [0] * 101, "data.b": [0] * 100}, "over 10000 audits"),
    ],
)
def test_rejects_invalid_sweep(sweep, message):
    with pytest.raises(BadInput, match=f"^here: .*{message}"):
        list(sweep_points(sweep, TABLES, "here"))
