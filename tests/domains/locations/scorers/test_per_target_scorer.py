import pickle

import numpy as np

from domains.locations.small_town import RAW, game, town
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.scorers.per_target_scorer import PerTargetScorer, TargetRule, study_targets
from leakgauge.strategies.threshold_rules import SumRule
from leakgauge.support.parallel import use_parallel_map


def played(knowledge_name, **parameters):
    challenger = game(town(), RAW, targets=2)
    knowledge = build(knowledge_name, parameters, challenger, seed=1)
    members = np.array([[True, False], [False, True], [True, True]])
    return members, knowledge, knowledge.view(challenger.release(members, np.random.default_rng(1)))


def test_targets_are_scored_on_their_cells_minus_known_counts():
    members, knowledge, seen = played("informed")
    first, second = (sketch.cells for sketch in knowledge.sketches)
    target_rules = PerTargetScorer(
        tuple(TargetRule(cells, SumRule(np.ones(cells.size), 0.0)) for cells in (first, second))
    )
    common = np.intersect1d(first, second).size
    expected = members @ np.array([[first.size, common], [common, second.size]])
    np.testing.assert_array_equal(target_rules(seen, np.random.default_rng(1)), expected)


def weigh(knowledge, piece):
    """Studies a target by drawing one number."""
    cells = knowledge.sketches[piece.target].cells
    return TargetRule(cells, SumRule(np.ones(cells.size), piece.rng.random()))


def test_targets_have_separate_random_streams():
    _, knowledge, _ = played("auxiliary")
    backwards = []

    def spreader(work, pieces):
        work = pickle.loads(pickle.dumps(work))  # as a worker gets it
        backwards.extend(work(piece) for piece in pieces[::-1])
        return backwards[::-1]

    here = study_targets(weigh, knowledge, 2, np.random.default_rng(7), long=False)
    with use_parallel_map(spreader):
        there = study_targets(weigh, knowledge, 2, np.random.default_rng(7), long=True)
    assert len(backwards) == 2
    thresholds = [
        [target_rule.rule.threshold for target_rule in found.target_rules] for found in (here, there)
    ]
    assert thresholds[0] == thresholds[1]
    assert thresholds[0][0] != thresholds[0][1]
