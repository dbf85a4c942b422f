from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from domains.locations.small_town import LAPLACE, RAW, game, pipeline_file, town, traces
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.challenger import build

CITY = {"users": 120, "sites": 5, "epochs": 12, "visits": 4}


def sizes(challenger, members, seed=3):
    """How many people are in each group: every person visits a first cell where all of them are."""
    return challenger.release(members, np.random.default_rng(seed)).whole[:, 0]


def everybody_at_home(n_people=40):
    visits = np.eye(n_people, n_people + 1, 1, dtype=int)
    visits[:, 0] = 1
    return traces(visits)


def test_add_remove_adds_members_to_others():
    challenger = game(everybody_at_home(), RAW, group_size=10, targets=4)
    members = np.array([[0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]], dtype=bool)
    assert sizes(challenger, members).tolist() == [6, 8, 10]


def test_replace_one_substitutes_absent_targets():
    challenger = game(everybody_at_home(), RAW, group_size=10, targets=4, relation="replace_one")
    members = np.array([[0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]], dtype=bool)
    assert sizes(challenger, members).tolist() == [10, 10, 10]


@pytest.mark.parametrize("relation", list(Relation))
def test_target_is_counted_iff_member(relation):
    people = everybody_at_home()
    challenger = game(people, RAW, group_size=10, targets=3, relation=relation)
    members = challenger.flip(50, np.random.default_rng(1))
    own_cells = 1 + challenger.people.targets
    seen = challenger.release(members, np.random.default_rng(2)).whole[:, own_cells]
    np.testing.assert_array_equal(seen, members)


@pytest.mark.parametrize("relation", list(Relation))
def test_reference_people_are_never_in_a_group(relation):
    challenger = game(everybody_at_home(), RAW, group_size=10, targets=3, relation=relation)
    whole = challenger.release(np.zeros((200, 3), dtype=bool), np.random.default_rng(2)).whole
    assert not whole[:, 1 + challenger.people.reference].any()
    assert (whole[:, 1 + challenger.people.pool].sum(axis=0) > 0).all()


def test_coins_are_fair_and_independent_of_one_another():
    members = game(town(), targets=3, group_size=10).flip(4_000, np.random.default_rng(5))
    patterns = np.bincount(members @ np.array([1, 2, 4]), minlength=8)
    assert chisquare(patterns).pvalue > 1e-3


def test_groups_of_rounds_are_independent():
    """Two rounds' counts of one pool member: each is in with chance size / pool, independently."""
    challenger = game(everybody_at_home(), RAW, group_size=10, targets=1)
    whole = challenger.release(np.zeros((4_000, 1), dtype=bool), np.random.default_rng(6)).whole
    somebody = whole[:, 1 + challenger.people.pool[0]].astype(int)
    pairs = np.bincount(2 * somebody[::2] + somebody[1::2], minlength=4)
    share = 9 / challenger.people.pool.size
    assert (
        chisquare(
            pairs, 2_000 * np.outer(binom.pmf([0, 1], 1, share), binom.pmf([0, 1], 1, share)).ravel()
        ).pvalue
        > 1e-3
    )


def test_block_is_reproducible():
    challenger = game(town(), targets=2)
    members = challenger.flip(5, stream(1, Role.BITS))
    first, again = (challenger.release(members, stream(1, Role.RELEASE, 3)).whole for _ in range(2))
    other = challenger.release(members, stream(1, Role.RELEASE, 4)).whole
    np.testing.assert_array_equal(first, again)
    assert not (first == other).any()


def test_earlier_releases_are_shared_and_not_counted_rounds():
    challenger = game(town(), targets=2)
    members, played = challenger.earlier(4)
    members_again, again = challenger.earlier(4)
    np.testing.assert_array_equal(members, members_again)
    np.testing.assert_array_equal(played.whole, again.whole)
    for block in range(3):
        rounds = challenger.release(members, stream(1, Role.RELEASE, block))
        assert not (rounds.whole == played.whole).any()


def test_promise_covers_target_with_most_cells():
    challenger = game(town(), LAPLACE, targets=5)
    most = max(challenger.traces.n_visits[challenger.people.targets])
    assert challenger.guarantee.epsilon == pytest.approx(most * 1.0)
    assert challenger.guarantee.unit is Unit.USER
    assert challenger.guarantee.nominal_unit is Unit.EVENT


def test_replace_one_promise_covers_the_substitute():
    challenger = game(town(), LAPLACE, targets=5, relation="replace_one")
    n_visits = challenger.traces.n_visits
    cells = max(n_visits[challenger.people.targets]) + max(n_visits[challenger.people.pool])
    assert challenger.guarantee.epsilon == pytest.approx(cells * 1.0)
    assert challenger.guarantee.relation is Relation.REPLACE_ONE


def test_promise_to_the_most_active_person_is_known_though_they_are_no_target():
    challenger = game(town(), LAPLACE, targets=1)
    n_visits, least = challenger.traces.n_visits, challenger.guarantee.least_protected
    assert challenger.guarantee.epsilon < max(n_visits)  # the target is somebody else
    assert (least.epsilon, least.parts) == (pytest.approx(max(n_visits) * 1.0), max(n_visits))
    assert challenger.guarantee.epsilon == pytest.approx(n_visits[challenger.people.targets[0]] * 1.0)
    # of the log ratios of all cells, each clipped to +-1 around a Laplace variable, the sign decides
    noise = np.random.default_rng(3).laplace(size=(200_000, max(n_visits)))
    ratios = (np.abs(noise) - np.abs(noise - 1)).sum(axis=1)
    assert least.accuracy == pytest.approx(np.mean(ratios < 0) + np.mean(ratios == 0) / 2, abs=0.004)
    everybody = game(town(), LAPLACE, targets={"n": 1, "choose": "most"}).guarantee
    assert everybody.least_protected.epsilon == everybody.epsilon == least.epsilon


def test_promise_to_whole_people_is_the_same_for_everybody(tmp_path):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts\n")
    own = {"name": "own", "release": "mine:publish", "epsilon": 0.5, "unit": "user"}
    assert built(tmp_path, own).guarantee.least_protected is None


def test_raw_counts_have_no_promise():
    assert game(town(), RAW).guarantee is None


def built(folder, mechanism=LAPLACE, data=CITY, **challenger):
    return build(
        data=data, challenger={"group_size": 30, **challenger}, mechanism=mechanism, folder=folder, seed=1
    )


def test_building_is_reproducible(tmp_path):
    first, again = built(tmp_path, targets=3), built(tmp_path, targets=3)
    assert first.digest == again.digest
    np.testing.assert_array_equal(first.people.targets, again.people.targets)
    np.testing.assert_array_equal(first.people.pool, again.people.pool)


def test_digest_covers_the_game(tmp_path):
    plain = built(tmp_path).digest
    others = [
        built(tmp_path, {"name": "laplace", "epsilon": 2.0}),
        built(tmp_path, data={**CITY, "visits": 5}),
        built(tmp_path, group_size=31),
    ]
    assert len({plain, *(other.digest for other in others)}) == 4


def test_contribution_caps_are_applied(tmp_path):
    challenger = built(tmp_path, per_user=2)
    assert challenger.traces.n_visits.max() == 2
    challenger = built(tmp_path, per_epoch=1)
    rows = np.repeat(np.arange(challenger.traces.n_people), challenger.traces.n_visits)
    epochs = challenger.traces.map.epochs(challenger.traces.visits.indices.astype(np.int64))
    assert np.unique(rows * 12 + epochs).size == rows.size


def test_user_pipeline_is_run_on_whole_tables(tmp_path):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts[::-1]\n")
    challenger = built(tmp_path, {"name": "own", "release": "mine:publish"})
    raw = built(tmp_path, RAW)
    members = challenger.flip(3, stream(1, Role.BITS))
    mine = challenger.release(members, stream(1, Role.RELEASE)).whole.reshape(3, 5, 12)
    true = raw.release(members, stream(1, Role.RELEASE)).whole.reshape(3, 5, 12)
    np.testing.assert_array_equal(mine, true[:, ::-1])
    assert challenger.guarantee is None


@pytest.mark.parametrize(("unit", "owned"), [("event", "n_visits"), ("user-day", "n_days"), ("user", None)])
def test_user_promise_is_composed_over_units_of_a_person(tmp_path, unit, owned):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts\n")
    own = {"name": "own", "release": "mine:publish", "epsilon": 0.5, "unit": unit}
    challenger = built(tmp_path, own, targets=4)
    n_units = 1 if owned is None else max(getattr(challenger.traces, owned)[challenger.people.targets])
    assert challenger.guarantee.epsilon == pytest.approx(0.5 * n_units)


def test_digest_covers_pipeline_source(tmp_path):
    digests = set()
    for number in (1, 2):
        pipeline_file(tmp_path, f"def publish(counts, rng):\n    return counts + {number}\n")
        digests.add(built(tmp_path, {"name": "own", "release": "mine:publish"}).digest)
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("text", "reference", "problem"),
    [
        ("publish = 3\n", "mine:publish", "'mine:publish' is no function, but of type int"),
        (
            "import random\ndice = random.Random(1)\ndef publish(c, rng):\n    return c + dice.random()\n",
            "mine:publish",
            "a generator of its own, dice",
        ),
        ("", "mine:publish", "has no 'publish'"),
        ("", "yours:publish", "no yours.py"),
    ],
)
def test_rejects_unusable_pipeline(tmp_path, text, reference, problem):
    pipeline_file(tmp_path, text)
    with pytest.raises(BadInput, match=problem):
        built(tmp_path, {"name": "own", "release": reference})


def test_plan_errors_are_reported_before_simulation(tmp_path):
    with pytest.raises(
        BadInput, match="group_size = 500: needs 499 people besides the targets, but the pool has"
    ):
        built(tmp_path, group_size=500)
    with pytest.raises(BadInput, match="did you mean 'layout'"):
        built(Path(tmp_path), data={**CITY, "layuot": "grid"})


@pytest.mark.parametrize(
    ("size", "suppress", "said"), [(20, 2, True), (20, 0, False), ("everyone", 2, False)]
)
def test_suppression_in_groups_is_said_to_hide_more_than_in_larger_tables(size, suppress, said):
    challenger = build(
        data={"users": 80, "sites": 9, "epochs": 12},
        challenger={"group_size": size},
        mechanism={"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": suppress},
        folder=Path(),
        seed=1,
    )
    assert any("in a table of more than 20 people fewer are" in note for note in challenger.notes) is said


def test_stated_epsilon_that_the_noise_does_not_give_is_a_warning():
    challenger = build(
        data={"users": 80, "sites": 9, "epochs": 12},
        challenger={"group_size": 20},
        mechanism={"name": "laplace", "epsilon": 1.0, "scale": 0.5},
        folder=Path(),
        seed=1,
    )
    assert any("states epsilon = 1 for one event, and its noise gives 2" in note for note in challenger.notes)
