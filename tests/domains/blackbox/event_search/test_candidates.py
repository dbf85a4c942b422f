import numpy as np
import pytest

from leakgauge.domains.blackbox.event_search.candidates import (
    RatioSum,
    SharedRatio,
    SingleFeature,
    SymbolMemory,
    zero_score,
)
from leakgauge.domains.blackbox.event_search.discrete_features import ExactValues
from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureReader, FeatureSpec, ShadowSample
from leakgauge.domains.blackbox.event_search.numeric_features import Coordinate
from leakgauge.domains.blackbox.event_search.output_table import tabulate


def sample(rows, members):
    table = tabulate([np.asarray(row) for row in rows])
    places = [place for place, path in enumerate(table.paths) if path and path[-1] != "#length"]
    return ShadowSample(FeatureReader(table.columns(places)), members)


MEMBERS = np.random.default_rng(1).random(8000) < 0.5


def accuracy(score, test):
    return np.mean((score(test.reader) > 0) == test.members)


def test_sum_of_log_ratios_comes_near_best_accuracy_on_noisy_cells():
    # Twenty cells, Laplace noise of scale 2, moved by 1: at best .8509 (privacy-loss convolution).
    rows = np.random.default_rng(2).laplace(scale=2, size=(8000, 20)) + MEMBERS[:, None]
    learn, test = sample(rows[:4000], MEMBERS[:4000]), sample(rows[4000:], MEMBERS[4000:])
    apart = RatioSum(tuple(FeatureSpec(Coordinate(place), 8) for place in range(20))).learn(learn)
    tied = SharedRatio(tuple(range(20)), 32).learn(learn)
    assert accuracy(apart, test) == pytest.approx(0.835, abs=0.03)
    assert accuracy(tied, test) == pytest.approx(0.851, abs=0.02)


def test_shared_ratio_handles_shifts_of_either_sign():
    ways = np.where(np.arange(20) % 2 == 0, 1.0, -1.0)
    rows = np.random.default_rng(3).laplace(scale=2, size=(8000, 20)) + MEMBERS[:, None] * ways
    learn, test = sample(rows[:4000], MEMBERS[:4000]), sample(rows[4000:], MEMBERS[4000:])
    assert accuracy(SharedRatio(tuple(range(20)), 32).learn(learn), test) == pytest.approx(0.851, abs=0.02)


def test_chain_counts_shared_evidence_of_neighbours_once():
    # Each bit equals its neighbour, more often with the target; single bits say nothing.
    rng = np.random.default_rng(4)
    stays = rng.random((8000, 5)) < np.where(MEMBERS, 0.8, 0.5)[:, None]
    bits = np.cumsum(np.column_stack([rng.random(8000) < 0.5, ~stays]), axis=1) % 2
    links = tuple(FeatureSpec(ExactValues((place, place + 1))) for place in range(5))
    joints = tuple(FeatureSpec(ExactValues((place,))) for place in range(1, 5))
    learn, test = sample(bits[:4000], MEMBERS[:4000]), sample(bits[4000:], MEMBERS[4000:])
    scores = RatioSum(links, less=joints).learn(learn)(test.reader)
    truth = np.where(stays[4000:], np.log(0.8 / 0.5), np.log(0.2 / 0.5)).sum(axis=1)
    assert np.corrcoef(scores, truth)[0, 1] > 0.99
    assert np.abs(scores - truth).max() < 0.8


def test_symbol_memory_scores_rare_symbols():
    # 4,000 symbols of each world, seen about once: no symbol has a log ratio of its own.
    rng = np.random.default_rng(5)
    rows = (rng.integers(4000, size=(8000, 1)) * 2 + MEMBERS[:, None]).astype(float)
    learn, test = sample(rows[:4000], MEMBERS[:4000]), sample(rows[4000:], MEMBERS[4000:])
    scores = SymbolMemory(ExactValues((0,))).learn(learn)(test.reader)
    assert (np.sign(scores[scores != 0]) == np.where(test.members[scores != 0], 1, -1)).all()
    assert np.mean(scores != 0) == pytest.approx(1 - np.exp(-0.5), abs=0.03)
    assert not SingleFeature(FeatureSpec(ExactValues((0,)))).learn(learn)(test.reader)[scores != 0].all()


def test_symbol_memory_ignores_unseen_symbols():
    rows = np.random.default_rng(6).normal(size=(2000, 1))
    learn = sample(rows, MEMBERS[:2000])
    assert not SymbolMemory(ExactValues((0,))).learn(learn)(sample(rows + 9, MEMBERS[:2000]).reader).any()


def test_zero_score_is_zero():
    assert zero_score(sample([[1.0], [2.0]], np.array([True, False])).reader).tolist() == [0, 0]
