"""The rules of each experiment: the training rows, the records in question, and the membership bits."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.data.sources import generate_mixture
from leakgauge.domains.models.games.game_builder import set_up_game
from leakgauge.domains.models.plan_tables import ModelsSyntheticDataTable, read_challenger_table

MIXED = {"name": "source", "group": "component", "members": "1"}


@pytest.fixture(scope="module")
def loaded():
    return generate_mixture(ModelsSyntheticDataTable(rows=600, features=4, components=3), seed=5)


def rng(*key):
    return np.random.default_rng([11, *key])


def set_up(loaded, relation=Relation.REPLACE_ONE, **table):
    return set_up_game(read_challenger_table(table), loaded, relation, rng(0))


GAMES = {
    "strong": {"game": "strong", "members": 50},
    "iid": {"game": "iid", "members": 100, "targets": 20},
    "exchangeable": {"members": 100, "targets": 20},
    "mixture": {"game": "mixture", "dependence": MIXED, "members": 60, "targets": 10},
    "group": {"game": "group", "dependence": MIXED, "members": 80, "others": 70},
    "control": {"game": "group", "dependence": MIXED, "members": 80, "others": 70, "control": True},
}


@pytest.fixture(params=GAMES)
def found(request, loaded):
    return set_up(loaded, **GAMES[request.param])


def drawn_rounds(found, rounds=40):
    game = found.game
    bits, drawing = game.flip(rounds, rng(1)), rng(2)
    return [game.draw_round(row, drawing) for row in bits]


def test_adversary_rows_are_disjoint_from_game_rows(found):
    assert found.reference.size
    for drawn in drawn_rounds(found):
        for rows in (drawn.training, drawn.shown, drawn.validation):
            assert not np.isin(rows, found.reference).any()


def test_model_is_trained_on_members_only(found, request):
    for drawn in drawn_rounds(found):
        assert drawn.training.size == found.game.slots
        assert np.isin(drawn.shown[drawn.members], drawn.trained_on).all()
        if "iid" not in request.node.name:  # there a row may be drawn by chance
            assert not np.isin(drawn.shown[~drawn.members], drawn.trained_on).any()


def test_round_uses_the_flipped_bits(found):
    bits = found.game.flip(5, rng(1))
    for row in bits:
        np.testing.assert_array_equal(found.game.draw_round(row, rng(3)).members, row)


def test_flipped_coins_are_fair(found):
    if found.game.coins is not Coins.GIVEN:
        share = found.game.flip(20_000 // found.game.n_targets, rng(4)).mean()
        assert share == pytest.approx(0.5, abs=0.02)  # 5 standard errors of 20,000 coins


@pytest.mark.parametrize("name", ["iid", "exchangeable"])
@pytest.mark.parametrize("relation", Relation)
def test_each_coin_decides_one_row(loaded, name, relation):
    game = set_up(loaded, relation, **GAMES[name]).game
    bits = game.flip(1, rng(5))[0]
    other = bits.copy()
    other[3] ^= True
    one, two = (sorted(game.draw_round(row, rng(6)).trained_on.tolist()) for row in (bits, other))
    left, gained = list(one), list(two)
    for row in one:
        if row in gained:
            gained.remove(row)
            left.remove(row)
    assert len(left) + len(gained) == (2 if relation is Relation.REPLACE_ONE else 1)
    assert game.targets[3] in left + gained


def test_rows_are_drawn_once_if_exchangeable_and_anew_if_iid(loaded):
    once = drawn_rounds(set_up(loaded, **GAMES["exchangeable"]))
    assert all(np.unique(drawn.training).size == drawn.training.size for drawn in once)
    again = drawn_rounds(set_up(loaded, **GAMES["iid"]))
    assert all(np.unique(drawn.training).size < drawn.training.size for drawn in again)


def test_iid_game_may_draw_absent_target_by_chance(loaded):
    by_chance = [
        np.isin(drawn.shown[~drawn.members], drawn.training).mean()
        for drawn in drawn_rounds(set_up(loaded, **GAMES["iid"]), 200)
    ]
    # Some 90 rows are drawn with replacement from 300: each is missed with chance (1 - 1/300)^90 = 0.74.
    assert np.mean(by_chance) == pytest.approx(0.26, abs=0.05)


def test_strong_game_tables_differ_in_one_row(loaded):
    game = set_up(loaded, **GAMES["strong"]).game
    with_it, without = (game.draw_round(np.array([bit]), rng(7)).training for bit in (True, False))
    assert with_it.size == 50
    np.testing.assert_array_equal(np.flatnonzero(with_it != without), [49])
    assert with_it[49] == game.target
    assert without[49] == game.substitute


def test_absent_target_leaves_empty_slot_under_add_remove(loaded):
    game = set_up(loaded, Relation.ADD_REMOVE, **GAMES["strong"]).game
    assert game.substitute is None
    assert game.draw_round(np.array([False]), rng(8)).trained_on.size == 49
    assert game.draw_round(np.array([True]), rng(8)).trained_on.size == 50


def test_mixture_record_alone_is_uninformative(loaded):
    found = set_up(loaded, **GAMES["mixture"])
    codes, counts = found.components.codes, np.zeros((2, 3))
    for drawn in drawn_rounds(found, rounds=3_000):
        for bit in (0, 1):
            first = np.flatnonzero(drawn.members == bit)[:1]  # one a round: they are tied
            counts[bit] += np.bincount(codes[drawn.shown[first]], minlength=3)
    assert chi2_contingency(counts).pvalue > 1e-4
    assert counts.min() > 700


def test_mixture_members_share_one_component(loaded):
    found = set_up(loaded, **GAMES["mixture"])
    seen = set()
    for drawn in drawn_rounds(found):
        mine = set(found.components.codes[drawn.training].tolist())
        assert len(mine) == 1
        assert not mine & set(found.components.codes[drawn.others].tolist())
        seen |= mine
    assert seen == {0, 1, 2}


def test_mixture_non_members_are_uniform_over_other_components(loaded):
    found = set_up(loaded, **GAMES["mixture"])
    counts = np.zeros((3, 3))
    for drawn in drawn_rounds(found, rounds=600):
        mine = found.components.codes[drawn.training[0]]
        counts[mine] += np.bincount(found.components.codes[drawn.others], minlength=3)
    apart = counts[~np.eye(3, dtype=bool)].reshape(3, 2)
    assert counts.trace() == 0
    # 3,000 others, 500 of each pair: the share of either kind is one half, with a standard error of 0.016
    np.testing.assert_allclose(apart / apart.sum(axis=1, keepdims=True), 0.5, atol=0.08)


def test_mixture_coins_are_tied_with_several_records(loaded):
    assert set_up(loaded, **GAMES["mixture"]).game.coins is Coins.TIED
    assert set_up(loaded, **GAMES["mixture"] | {"targets": 1}).game.coins is Coins.FAIR


def test_fixed_group_order_is_uninformative(loaded):
    found = set_up(loaded, **GAMES["group"])
    game, bits = found.game, found.game.flip(400, rng(9))
    assert game.coins is Coins.GIVEN
    assert (bits.sum(axis=1) == 80).all()
    assert bits.mean(axis=0).std() == pytest.approx(np.sqrt(80 * 70) / 150 / 20, rel=0.25)
    assert (found.components.values[found.fixed], found.fixed) == ("1", 1)
    for drawn in drawn_rounds(found, 5):
        assert (found.components.codes[drawn.training] == 1).all()
        assert (found.components.codes[drawn.others] != 1).all()


def test_group_members_are_drawn_anew_each_round(loaded):
    first, second = drawn_rounds(set_up(loaded, **GAMES["group"]), 2)
    assert not np.array_equal(np.sort(first.training), np.sort(second.training))


def test_group_control_mixes_components(loaded):
    found = set_up(loaded, **GAMES["control"])
    assert not found.game.depends
    for drawn in drawn_rounds(found, 5):
        assert np.unique(found.components.codes[drawn.training]).size == 3


def test_subset_of_records_can_be_shown(loaded):
    game = set_up(loaded, **GAMES["group"] | {"targets": 30}).game
    assert game.shown == (16, 14)
    assert game.flip(2, rng(1)).sum(axis=1).tolist() == [16, 16]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"members": 500}, "500 rows are drawn for a training besides the 100 targets, but there are 200"),
        ({"members": 50, "targets": 60}, "60 exceed the 50 members"),
        ({"members": 50, "reference": 600}, "600 of 600 rows go to the attacker"),
        ({"game": "mixture"}, "needs what members have in common"),
        ({"dependence": {"name": "clusters"}}, "dependence is for game = 'mixture' or 'group'"),
        ({"game": "mixture", "dependence": {"name": "none"}}, "a mixture needs components"),
        ({"game": "mixture", "dependence": MIXED, "members": 400}, "400 members (or targets) are drawn"),
        ({"game": "group", "dependence": MIXED, "members": 400}, "400 members and 0 others wanted"),
        ({"game": "group", "dependence": MIXED | {"members": "7"}}, "challenger.dependence.members"),
        ({"game": "strong", "targets": 2}, "about one target"),
        ({"game": "strong", "members": 400}, "401 rows wanted"),
        ({"control": True}, "control is for game = 'group'"),
        ({"reference": 1.5}, "a share must be below 1"),
        ({"reference": float("nan")}, "reference must be >= 0"),
        (
            {"targets": {"names": ["a"]}},
            "no record is called 'a'; records are named by the number",
        ),
    ],
)
def test_rejects_invalid_games(loaded, table, words):
    with pytest.raises(BadInput) as error:
        set_up(loaded, **table)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
