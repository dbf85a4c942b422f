from dataclasses import replace

import numpy as np
import pytest

from domains.locations.small_town import game, town, traces
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.data.visit_data import Friends
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.plan_tables import read_knowledge_table


def own_cells(n_targets=1, friends=None):
    """Thirty people with a cell each; the reference are people 0 to 13, the targets the last ones."""
    challenger = game(traces(np.eye(30, dtype=int)), targets=n_targets, group_size=5)
    targets = np.arange(30 - n_targets, 30)
    people = PopulationSplit(targets, np.arange(14, 30 - n_targets), np.arange(14))
    return replace(challenger, people=people, friends=friends)


def cells_known(challenger, friends):
    return [
        sketch.cells.tolist() for sketch in build("friends", {"friends": friends}, challenger, 1).sketches
    ]


def test_listed_friends_represent_the_target():
    sketch = build("friends", {"friends": ["3", 11]}, own_cells(), seed=1).sketches[0]
    assert sketch.cells.tolist() == [3, 11]
    assert sketch.weights.tolist() == [0.5, 0.5]
    assert not sketch.complete


def test_only_friends_in_reference_are_used():
    """Person 20 is of the pool: what they do is not for attackers."""
    assert cells_known(own_cells(), [20, 3]) == [[3]]


def test_friends_file_is_per_target():
    friends = Friends(np.array([0, 28, 28, 29]), np.array([29, 4, 5, 6]))
    assert cells_known(own_cells(2, friends), "given") == [[4, 5], [6]]


def test_other_targets_are_not_friends():
    friends = Friends(np.array([28, 28, 29]), np.array([4, 29, 6]))
    assert cells_known(own_cells(2, friends), "given") == [[4], [6]]


def test_friend_knowledge_does_not_depend_on_target():
    """Whatever the target did, the attacker believes the same."""
    challenger = own_cells()
    moved = challenger.traces.visits.toarray()
    moved[29] = 0
    moved[29, :20] = 1
    other = replace(challenger, traces=traces(moved))
    assert cells_known(other, [3, 11]) == cells_known(challenger, [3, 11])


@pytest.mark.parametrize(
    ("n_targets", "friends", "problem"),
    [
        (1, ["zoe"], "'zoe' is not in the data"),
        (1, [29], "among their own friends"),
        (1, [20, 21], "none of the 2 friends of one target is in the reference"),
        (2, [3], "a list of friends is for one target, and there are 2"),
        (1, "given", "needs data.friends"),
        (1, "friends.csv", r"name a CSV file of friends in data\.friends"),
        (1, [], "list friends by name"),
        (1, 0, "friends must be >= 1"),
        (1, 2.5, "friends"),
    ],
)
def test_rejects_invalid_friends(n_targets, friends, problem):
    with pytest.raises(BadInput, match=problem):
        cells_known(own_cells(n_targets), friends)


def test_target_without_friends_in_file_is_named():
    with pytest.raises(BadInput, match=r"the file of data\.friends has no row for one of the targets"):
        cells_known(own_cells(2, Friends(np.array([29]), np.array([3]))), "given")


def test_similar_reference_people_are_default_friends():
    """Cosines with every person of the reference, by hand."""
    challenger = game(town(n_people=200), targets=2, group_size=20)
    visits = challenger.traces.visits.toarray().astype(float)
    for person, sketch in zip(challenger.people.targets, build("friends", {}, challenger, 1).sketches):
        rows = visits[challenger.people.reference]
        cosine = rows @ visits[person] / np.sqrt(rows.sum(axis=1) * visits[person].sum())
        five = rows[np.argsort(-cosine, kind="stable")[:5]]
        np.testing.assert_allclose(np.flatnonzero(five.sum(axis=0)), sketch.cells)
        np.testing.assert_allclose(five.mean(axis=0)[sketch.cells], sketch.weights)


def test_rejects_unknown_keys():
    assert read_knowledge_table("friends", {"friends": ["a"]}).friends == ("a",)
    with pytest.raises(BadInput, match="knowledge 'friends': no key is called 'trace'"):
        read_knowledge_table("friends", {"trace": 0.5})


def test_rejects_spread_over_no_places():
    for name in ("auxiliary", "zero"):
        with pytest.raises(BadInput, match=f"knowledge '{name}': spread = 'greedy' .* add places = "):
            read_knowledge_table(name, {"spread": "greedy"})
        assert read_knowledge_table(name, {"spread": "greedy", "places": 2}).spread == "greedy"
