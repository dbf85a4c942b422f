"""A block that is too large for memory is played in parts."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest

from leakgauge.api import run
from leakgauge.core import game
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, ChallengerDefaults, Coins, Scorer, play
from leakgauge.core.randomness import Role, stream


@dataclass
class Wide(ChallengerDefaults):
    """Publishes a row of a million numbers; those of members are larger by one."""

    round_bytes: int
    n_targets = 3
    coins = Coins.FAIR
    guarantee = None
    digest = "wide"

    def flip(self, n_rounds, rng):
        return rng.random((n_rounds, 3)) < 0.5

    def release(self, members, rng):
        return members[:, :1] + rng.normal(size=(len(members), 1000))


class Seeing:
    def view(self, block):
        return block


SCORER = Scorer(lambda view, rng: view[:, :3] + rng.random((len(view), 3)))


def played(round_bytes, rounds=range(100, 200)):
    return play(Wide(round_bytes), {"a": Adversary(Seeing(), SCORER)}, seed=3, rounds=rounds, block=1)["a"]


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_parts_have_the_bits_and_rounds_of_the_whole_block(at_once):
    whole, parts = played(1), played(game.PART_BYTES // at_once)
    for name in ("rounds", "targets", "members"):
        assert (getattr(whole, name) == getattr(parts, name)).all()
    assert (whole.scores == parts.scores).all() == (at_once == 100)


def test_a_part_has_streams_of_its_own_that_depend_on_seed_and_block_alone():
    parts = played(game.PART_BYTES // 7)
    members = np.random.Generator.random(stream(3, Role.BITS, 1), (100, 3)) < 0.5
    second = slice(7, 14)
    release = stream(3, Role.RELEASE, 1).spawn(15)[1]
    noise = stream(3, Role.SCORE, 1).spawn(15)[1].random((7, 3))
    expected = members[second, :1] + release.normal(size=(7, 1000))[:, :3] + noise
    np.testing.assert_array_equal(parts.scores.reshape(100, 3)[second], expected)


def test_memory_does_not_grow_with_the_rounds_of_a_block(monkeypatch):
    monkeypatch.setattr(game, "PART_BYTES", 10 * 8_000)

    tracemalloc.start()
    played(8_000, range(2_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 2_000 * 8_000  # of which the trials take half


TABLE = {
    "name": "city",
    "domain": "locations",
    "rounds": 35,
    "block": 35,
    "data": {"source": "synthetic", "users": 60, "sites": 20, "epochs": 24},
    "challenger": {"group_size": "everyone", "targets": 2, "splits": 2},
    "mechanism": {"name": "raw", "suppress": 1},
    "attacks": [{"name": "likelihood", "knowledge": "informed"}],
}


@pytest.mark.parametrize("at_once", [1, 7])
def test_counts_without_noise_give_the_same_trials_in_parts_of_any_size(at_once, tmp_path, monkeypatch):
    plan = {"seed": 5, "audit": [TABLE], "limits": {"none": True}}
    whole = run(plan, out=tmp_path / "whole")
    bytes_of_a_round = 4 * 60 + 28 * 20 * 24
    monkeypatch.setattr(game, "PART_BYTES", at_once * bytes_of_a_round)
    parts = run(plan, out=tmp_path / "parts")
    assert [found.metrics for found in whole] == [found.metrics for found in parts]


def test_a_round_that_does_not_fit_is_refused_before_the_first_one(tmp_path, monkeypatch):
    monkeypatch.setattr("leakgauge.runner.run.PART_BYTES", 1_000)
    plan = {"seed": 5, "audit": [TABLE]}
    with pytest.raises(BadInput, match=r"one round takes about .* GB .*--memory GB.*use fewer workers"):
        run(plan, out=tmp_path / "run", memory=1e-9)
    assert not (tmp_path / "run").exists()
    with pytest.raises(BadInput, match="memory must be above 0"):
        run(plan, out=tmp_path / "run", memory=0)
