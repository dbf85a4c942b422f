import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.blackbox.challenger import Challenger


def shown(dataset, rng):
    return dataset


PROMISE = Guarantee(epsilon=1.0)


def test_coins_are_fair_and_there_is_one_target():
    challenger = Challenger(shown, ("out", "in"), PROMISE)
    members = challenger.flip(40_000, np.random.default_rng(1))
    assert members.shape == (40_000, 1)
    assert members.mean() == pytest.approx(0.5, abs=0.01)
    assert (challenger.n_targets, challenger.coins, challenger.guarantee) == (1, Coins.FAIR, PROMISE)


def test_members_get_the_second_input():
    challenger = Challenger(shown, ("out", "in"), None)
    assert challenger.release(np.array([[True], [False]]), np.random.default_rng(1)) == ["in", "out"]


def test_the_release_draws_from_the_stream_of_its_block():
    challenger = Challenger(lambda dataset, rng: rng.random(), (0, 1), None)
    members = np.zeros((3, 1), dtype=bool)
    expected = np.random.default_rng(5).random(3).tolist()
    assert challenger.release(members, np.random.default_rng(5)) == expected


@pytest.mark.parametrize("pair", [(1,), (1, 2, 3), 5, "ab", {1: 2, 3: 4}])
def test_a_pair_is_two_inputs(pair):
    with pytest.raises(BadInput, match="without the target, then the one with it"):
        Challenger(shown, pair, None)


def test_a_release_must_be_callable():
    with pytest.raises(BadInput, match="callable"):
        Challenger("laplace", (0, 1), None)


def test_the_users_own_arrays_are_not_made_read_only():
    mine = np.zeros(2)
    Challenger(shown, (mine, np.ones(2)), None)
    mine[0] = 5
