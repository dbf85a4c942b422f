import numpy as np

from leakgauge.core.game import Coins
from leakgauge.runner.given import trials_of


def test_rounds_and_targets_are_numbered_by_name_and_not_by_row():
    trials = trials_of([1, 0, 1], [0, 1, 2], ["10", "9", "10"], ["b", "a", "a"], Coins.FAIR)
    assert trials.rounds.tolist() == [1, 0, 1]
    assert trials.targets.tolist() == [1, 0, 0]


def test_targets_without_names_are_numbered_in_each_round():
    trials = trials_of([1, 0, 1, 0, 1], np.arange(5), [3, 1, 3, 1, 2], None, Coins.FAIR)
    assert trials.targets.tolist() == [0, 0, 1, 1, 0]
