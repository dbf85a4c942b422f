import numpy as np
import pytest

from known_trials import trials
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Trials
from leakgauge.referee.per_target import split_targets, target_rows


def some():
    """Target 7 is in and out, target 9 is only in."""
    return Trials(
        np.arange(4), np.array([7, 7, 9, 9]), np.array([True, False, True, True]), np.arange(4.0), Coins.FAIR
    )


def test_targets_with_one_class_are_left_out():
    kept, numbers, ins, outs = split_targets(some(), "auc_mean")
    assert kept.targets.tolist() == [7, 7]
    assert numbers.tolist() == [0, 0]
    assert (ins.tolist(), outs.tolist()) == ([1], [1])


def test_rejects_targets_without_both_classes():
    with pytest.raises(BadInput, match="in some rounds and out of others"):
        split_targets(trials(np.ones(4, bool), np.arange(4)), "auc_mean")


def test_rows_are_grouped_by_target():
    assert [(name, rows.scores.tolist()) for name, rows in target_rows(some())] == [(7, [0, 1]), (9, [2, 3])]
