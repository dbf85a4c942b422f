"""A block whose releases are lost is played again as a whole; its challenger closes what it held open."""

import numpy as np
import pytest

from leakgauge.catalog import PreparedAudit
from leakgauge.core.errors import BadInput, ReleaseLost
from leakgauge.core.game import Adversary, ChallengerDefaults, Coins, Scorer
from leakgauge.runner import play_block
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.play_block import RETRY_SECONDS, PlayBlock, study_attacks
from leakgauge.support.parallel import parallel_map

BLOCK = RoundBlock(3, range(30, 40))


class Frail(ChallengerDefaults):
    """A challenger whose releases are lost at first."""

    n_targets, coins, guarantee, digest = 1, Coins.FAIR, None, ""

    def __init__(self, losses, error=ReleaseLost):
        self.losses, self.error, self.told, self.bits = losses, error, [], []

    def flip(self, n_rounds, rng):
        return rng.random((n_rounds, 1)) < 0.5

    def release(self, members, rng):
        self.bits.append(members.tolist())
        return members + rng.normal(size=members.shape)

    def end(self):
        self.told.append("end")

    def abandon(self):
        self.told.append("abandon")


class All:
    def view(self, block):
        return block


def block(frail):
    def score(view, rng):
        if len(frail.bits) <= frail.losses:
            raise frail.error("the line went dead")
        return view

    return PlayBlock(
        frail,
        {"calm": Adversary(All(), Scorer(lambda view, rng: view)), "it": Adversary(All(), Scorer(score))},
        7,
    )


@pytest.fixture(autouse=True)
def slept(monkeypatch):
    seconds = []
    monkeypatch.setattr(play_block, "sleep", seconds.append)
    return seconds


def test_lost_block_is_repeated_with_same_bits_and_backoff(slept):
    frail, calm = Frail(3), Frail(0)
    found, expected = block(frail)(BLOCK), block(calm)(BLOCK)
    assert frail.told == ["abandon", "abandon", "abandon", "end"]
    assert frail.bits == calm.bits * 4
    assert slept == list(RETRY_SECONDS[:3]) == sorted(RETRY_SECONDS[:3])
    for label in ("calm", "it"):
        np.testing.assert_array_equal(found[label].scores, expected[label].scores)


def test_repeatedly_lost_block_is_given_up(slept):
    frail = Frail(100)
    with pytest.raises(
        ReleaseLost, match="rounds 30 to 39 were lost 5 times, the last time by the line went dead"
    ):
        block(frail)(BLOCK)
    assert len(frail.bits) == len(RETRY_SECONDS) + 1 == 5
    assert slept == list(RETRY_SECONDS)


@pytest.mark.parametrize("error", [BadInput, ValueError, KeyboardInterrupt])
def test_other_errors_are_not_retried(slept, error):
    frail = Frail(1, error)
    with pytest.raises(error):
        block(frail)(BLOCK)
    assert (len(frail.bits), frail.told, slept) == (1, ["abandon"], [])


class Spreads:
    """An attack that studies in pieces."""

    def study(self, knowledge, rng):
        assert parallel_map(abs, [-3, 2, -1]) == [3, 2, 1]
        return Scorer(lambda view, rng: view)


def test_study_progress_is_reported():
    told = []
    game = PreparedAudit(Frail(0), {"it": All()}, {"it": Spreads()}, "digest")
    study_attacks(game, 1, InProcessEngine(), told.append)
    assert told == ["it studies", *(f"it studies, {n} of 3" for n in (1, 2, 3))]
