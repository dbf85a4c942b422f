import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, game, pipeline_file, town
from leakgauge.domains.locations.counts.cell_expectations import cell_moments, cell_votes
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases
from leakgauge.domains.locations.scorers.computed_thresholds import (
    ExpectationsFromRelease,
    ExpectationsFromTraces,
    known_tail_distribution,
    same_every_round,
)
from leakgauge.support.user_code import UserCodeLoader

CLAMPED = {**LAPLACE, "round": True, "clamp": True, "suppress": 1}
SEVERAL = {"targets": {"n": 3, "min_visits": 3}, "group_size": 30}


def seen_by(knowledge, challenger, n_rounds=4):
    members = challenger.flip(n_rounds, np.random.default_rng(1))
    return knowledge.view(challenger.release(members, np.random.default_rng(2)))


@pytest.mark.parametrize(
    ("mechanism", "knowledge", "parameters", "same"),
    [
        (LAPLACE, "auxiliary", {}, True),
        (CLAMPED, "auxiliary", {}, True),
        (LAPLACE, "informed", {}, True),
        (CLAMPED, "informed", {}, False),
        (CLAMPED, "partial", {"theta": 0.1}, False),
        (LAPLACE, "zero", {}, False),
    ],
)
def test_the_same_is_expected_in_every_round_or_not(mechanism, knowledge, parameters, same):
    assert same_every_round(build(knowledge, parameters, game(town(), mechanism), seed=1)) is same


def test_a_law_is_known_of_chains_to_who_can_use_it(tmp_path):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts\n")
    own = game(town(), {"name": "own", "release": "mine:publish"}, loader=UserCodeLoader(tmp_path))
    assert known_tail_distribution(build("auxiliary", {}, own, seed=1)) is None
    assert known_tail_distribution(build("past", {}, game(town()), seed=1)) is None
    assert known_tail_distribution(build("zero", {}, game(town()), seed=1)) is not None


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_with_traces_the_known_are_added_to_what_is_usual(relation):
    challenger = game(town(200), CLAMPED, relation=relation, **SEVERAL)
    knowledge = build("partial", {"theta": 0.5}, challenger, seed=1)
    seen, law = seen_by(knowledge, challenger), known_tail_distribution(knowledge)
    expectations = ExpectationsFromTraces.of(knowledge, law, fpr=0.2)
    for target, (found, voted) in enumerate(
        zip(expectations.moments(seen), expectations.votes(seen), strict=True)
    ):
        prior, cells = knowledge.prior(target, 0.0), knowledge.sketches[target].cells
        known = seen.known(cells)
        assert known.any()
        for round_ in range(4):
            for cell in range(cells.size):
                number = int(known[round_, cell])
                exact = cell_moments(law, prior, number)
                assert found.mean.there[round_, cell] == pytest.approx(exact.mean.there[cell])
                assert found.variance.out[round_, cell] == pytest.approx(exact.variance.out[cell])
                assert voted.cut[round_, cell] == cell_votes(law, prior, 0.2, number).cut[cell]


@pytest.mark.parametrize("mechanism", [LAPLACE, CLAMPED], ids=str)
def test_with_a_release_alone_its_habits_are_taken(mechanism):
    challenger = game(town(200), mechanism, **SEVERAL)
    knowledge = build("zero", {}, challenger, seed=1)
    seen, law = seen_by(knowledge, challenger), known_tail_distribution(knowledge)
    habits = profiles_from_releases(seen.whole, knowledge.public)
    found = list(ExpectationsFromRelease.of_moments(knowledge, law).moments(seen))
    voted = list(ExpectationsFromRelease.of_votes(knowledge, law, None).votes(seen))
    for target, sketch in enumerate(knowledge.sketches):
        for round_, rates in enumerate(habits.rates(sketch.cells)):
            exact = cell_moments(law, knowledge.prior(target, rates))
            np.testing.assert_allclose(found[target].mean.out[round_], exact.mean.out, rtol=1e-3, atol=1e-3)
            middle = (exact.mean.out + exact.mean.there) / 2
            np.testing.assert_allclose(voted[target].cut[round_], middle, rtol=1e-3, atol=1e-3)
