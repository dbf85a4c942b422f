import pytest

from leakgauge.core.errors import BadInput
from leakgauge.sweep import points

TABLES = {"data": {"source": "x"}, "mechanism": {"epsilon": 9.0}, "challenger": {}, "metrics": {}}


def test_a_sweep_is_the_product_of_its_lists_in_their_order():
    found = list(points({"mechanism.epsilon": [0.5, 1.0], "mechanism.suppress": [0, 1]}, TABLES, ""))
    assert [name for name, _ in found] == [
        "@epsilon=0.5,suppress=0",
        "@epsilon=0.5,suppress=1",
        "@epsilon=1.0,suppress=0",
        "@epsilon=1.0,suppress=1",
    ]
    assert found[3][1] == {**TABLES, "mechanism": {"epsilon": 1.0, "suppress": 1}}


def test_no_sweep_is_one_point_without_a_name():
    assert list(points({}, TABLES, "")) == [("", TABLES)]


def test_points_share_nothing():
    first, second = (point for _, point in points({"data.box": [[1], [2]]}, TABLES, ""))
    first["data"]["box"].append(3)
    first["mechanism"]["epsilon"] = 0.0
    assert second == {**TABLES, "data": {"source": "x", "box": [2]}}
    assert TABLES["mechanism"] == {"epsilon": 9.0}


def test_keys_with_the_same_end_are_written_in_full():
    [(name, _)] = points(
        {"data.n": [1], "challenger.targets.n": [2], "metrics.confidence": [0.9]}, TABLES, ""
    )
    assert name == "@data.n=1,challenger.targets.n=2,confidence=0.9"


def test_keys_reach_tables_within_tables():
    [(_, point)] = points({"challenger.targets.n": [2]}, TABLES, "")
    assert point["challenger"] == {"targets": {"n": 2}}


def test_dotted_keys_mean_the_same_with_and_without_quotes():
    assert list(points({"mechanism": {"epsilon": [1]}}, TABLES, "")) == list(
        points({"mechanism.epsilon": [1]}, TABLES, "")
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
def test_values_can_stand_in_the_name_of_a_folder(value, written):
    [(name, _)] = points({"data.x": [value]}, TABLES, "")
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
def test_what_cannot_be_swept_is_refused(sweep, message):
    with pytest.raises(BadInput, match=f"^here: .*{message}"):
        list(points(sweep, TABLES, "here"))
