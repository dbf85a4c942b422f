import numpy as np
import pytest

from domains.locations.small_town import traces
from domains.locations.tiny_files import written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import Traces, find_people
from leakgauge.domains.locations.data.visit_data import Friends, read_friends

NUMBERED = traces(np.eye(5, dtype=int))
NAMED = Traces(NUMBERED.visits, NUMBERED.map, np.array(["ann", "bob", "7", "dan", "eve"]))


def test_friends_are_listed_once_per_person(tmp_path):
    path = written(tmp_path, "f.csv", "target,friend", "dan,eve", "ann,bob", "dan,7", "dan,eve", "bob,ann")
    friends = read_friends(path, NAMED)
    assert [friends.of(person).tolist() for person in range(5)] == [[1], [0], [], [2, 4], []]


def test_columns_may_be_in_any_order(tmp_path):
    path = written(tmp_path, "f.csv", "\ufeffsince,friend , target", '2012,"bob",ann', "", "2013, 7,ann")
    assert read_friends(path, NAMED).of(0).tolist() == [1, 2]


def test_people_of_synthetic_city_are_named_by_number(tmp_path):
    path = written(tmp_path, "f.csv", "target,friend", "4,0")
    assert read_friends(path, NUMBERED).of(4).tolist() == [0]
    assert find_people([3, "1"], NUMBERED, "it").tolist() == [3, 1]
    assert find_people(["eve", 7], NAMED, "it").tolist() == [4, 2]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["target,friend", "ann,bob", "ann,zoe"], "line 3 of f.csv: a target or friend is not in the data"),
        (["target,friend", "zoe,bob"], "line 2 of f.csv: a target or friend is not in the data"),
        (["target,friend", "ann,ann"], "line 2 of f.csv: a person is their own friend"),
        (["target,friend", "ann,"], "line 2 of f.csv: a target or friend is missing"),
        (["target,friend", "ann"], "line 2 of f.csv: a target or friend is missing"),
        (["target,freind", "ann,bob"], "f.csv has no column 'friend'; it has target, freind; name them"),
        (["target,friend"], "f.csv has no rows"),
        ([""], "f.csv has no columns 'target' and 'friend'; it has none"),
    ],
)
def test_rejects_invalid_friend_with_line_number(tmp_path, lines, problem):
    with pytest.raises(BadInput, match=f"^data.friends: .*{problem}"):
        read_friends(written(tmp_path, "f.csv", *lines), NAMED)


def test_rejects_missing_or_binary_file(tmp_path):
    with pytest.raises(BadInput, match=r"data.friends: there is no file 'f.csv'"):
        read_friends(tmp_path / "f.csv", NAMED)
    (tmp_path / "f.csv").write_bytes(b"target,friend\nann,\xff\xfe\n")
    with pytest.raises(BadInput, match=r"data.friends: f.csv cannot be read"):
        read_friends(tmp_path / "f.csv", NAMED)


def test_unknown_person_is_named():
    with pytest.raises(BadInput, match=r"^it: 'zoe' is not in the data"):
        find_people(["ann", "zoe"], NAMED, "it")


def test_person_without_friends_has_none():
    assert Friends(np.array([2, 2]), np.array([1, 0])).of(1).tolist() == []
