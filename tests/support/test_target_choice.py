import pytest

from leakgauge.core.errors import BadInput
from leakgauge.support.target_choice import TargetChoice, expand_targets, rows_by_name


def test_default_is_one_target():
    assert [TargetChoice().how_many, TargetChoice(n=3).how_many, TargetChoice(names=("a", 7)).how_many] == [
        1,
        3,
        2,
    ]


@pytest.mark.parametrize(
    ("said", "problem"), [({"n": 0}, "an audit needs a target"), ({"n": 1, "names": ("a",)}, "leave out n")]
)
def test_rejects_zero_targets_and_two_selections(said, problem):
    with pytest.raises(BadInput, match=problem):
        TargetChoice(**said)


@pytest.mark.parametrize("said", [{"n": 2}, True, None])
def test_only_a_number_may_replace_the_table(said):
    assert expand_targets({"targets": 5, "m": 1}) == {"targets": {"n": 5}, "m": 1}
    assert expand_targets({"targets": said}) == {"targets": said}


def test_rows_follow_order_of_names():
    rows = {"ann": 4, "7": 2}
    assert rows_by_name([7, "ann"], rows, "it", repr).tolist() == [2, 4]
    with pytest.raises(BadInput, match=r"^it: 'zoe'$"):
        rows_by_name(["zoe"], rows, "it", repr)
    with pytest.raises(BadInput, match="'7' is named twice"):
        rows_by_name([7, "7"], rows, "it", repr)


def test_rejects_empty_list_of_names():
    with pytest.raises(BadInput, match="names is empty"):
        TargetChoice(names=())
