import re

import cloudpickle
import numpy as np
import pytest

from domains.blackbox.audit_case import bound, played, studied
from domains.blackbox.mechanisms_under_test import BROKEN, CORRECT, Case
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.blackbox import shadows
from leakgauge.domains.blackbox.attacks.learned_event import Attack
from leakgauge.domains.blackbox.knowledge import LawKnowledge, SimulatorKnowledge
from leakgauge.mechanisms import laplace
from leakgauge.support.parallel import use_parallel_map
from page_numbers import page_words

CASES = {case.name: case for case in (*BROKEN, *CORRECT)}


def test_share_threshold_and_event_are_fixed_in_study():
    reading = studied(CASES["naive floats"], 2_000, 1).scorer.reading
    assert reading.signed
    assert reading.threshold == 0.0
    assert 0 < reading.fraction <= 1
    assert "bit" in reading.event


def test_study_and_rounds_can_be_repeated():
    case = CASES["sparse vector, not scaled"]
    one, other = (played(case, studied(case, 1_000, 5), 500, 5).scores for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_result_does_not_depend_on_shadow_engine(monkeypatch):
    case = CASES["budget not split"]
    alone = studied(case, 1_000, 5)
    monkeypatch.setattr(shadows, "_MIN_PARALLEL_SECONDS", 0.0)
    with use_parallel_map(
        lambda function, items: [cloudpickle.loads(cloudpickle.dumps(function))(item) for item in items]
    ):
        helped = studied(case, 1_000, 5)
    np.testing.assert_array_equal(played(case, alone, 300, 5).scores, played(case, helped, 300, 5).scores)
    assert alone.scorer.reading == helped.scorer.reading


def test_scorer_can_be_pickled():
    case = CASES["sparse vector, with value"]
    adversary = studied(case, 1_000, 5)
    again = cloudpickle.loads(cloudpickle.dumps(adversary))
    np.testing.assert_array_equal(played(case, adversary, 200, 5).scores, played(case, again, 200, 5).scores)


def test_scores_do_not_depend_on_size_of_blocks():
    case = CASES["length of the data"]
    adversary = studied(case, 1_000, 5)
    seen = adversary.knowledge.simulate(np.arange(40) % 2 == 0, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    together = adversary.scorer.score(seen, rng)
    assert together.shape == (40, 1)
    np.testing.assert_array_equal(
        together, np.concatenate([adversary.scorer.score([one], rng) for one in seen])
    )


def test_delta_of_promise_is_used_unless_another_is_given():
    chosen = {}
    for delta in (0.0, 0.05):
        knowledge = SimulatorKnowledge(lambda x, rng: x + rng.normal(scale=3.73), (100.0, 101.0), delta)
        for own in (None, 0.05):
            scorer = Attack(shadows=4_000, delta=own).study(knowledge, stream(3, Role.STUDY))
            chosen[delta, own] = scorer.reading.fraction
    assert chosen[0.0, 0.05] == chosen[0.05, None] == chosen[0.05, 0.05] > chosen[0.0, None]


def test_learned_event_accepts_known_mechanism():
    knowledge = LawKnowledge(laplace.Mechanism(epsilon=2.0), np.zeros(2), np.ones(2), 0.0)
    scorer = Attack(shadows=1_000).study(knowledge, stream(1, Role.STUDY))
    assert np.isfinite(
        scorer.score(knowledge.simulate(np.ones(9, bool), stream(1, Role.RELEASE)), stream(1, Role.SCORE))
    ).all()


@pytest.mark.parametrize("parameters", [{"shadows": 99}, {"delta": 1.0}, {"delta": float("nan")}])
def test_rejects_parameters_out_of_range(parameters):
    with pytest.raises(BadInput, match="learned_event"):
        Attack(**parameters)


def test_rejects_other_knowledge():
    with pytest.raises(BadInput, match='needs knowledge = "simulator"'):
        Attack().study(object(), stream(1, Role.STUDY))


def exact_in_one_of_500(value, rng):
    return value if rng.random() < 1 / 500 else value + rng.laplace()


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_rare_exact_answer_is_found(delta):
    case = Case(
        name="exact in 1 of 500", release=exact_in_one_of_500, pair=(100.0, 101.0), epsilon=1.0, delta=delta
    )
    assert bound(case, rounds=20_000, shadows=20_000, seed=0) > 1.5  # 0.94 with a single event


@pytest.mark.nightly
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_rare_exact_answer_is_found_with_every_seed(delta):
    case = Case(
        name="exact in 1 of 500", release=exact_in_one_of_500, pair=(100.0, 101.0), epsilon=1.0, delta=delta
    )
    bounds = [bound(case, rounds=20_000, shadows=20_000, seed=seed) for seed in range(28)]
    assert f"is found in {np.sum(np.array(bounds) > 1)} of 28 audits of" in page_words("statistics.md")
    assert np.median(bounds) > 2.0


def test_bound_of_rare_truth_does_not_depend_on_the_seed():
    # With a share alone, seed 7 came to 0.38 of the others: it reached a large group of weak guesses.
    bounds = [bound(CASES["truth slips out"], rounds=20_000, shadows=20_000, seed=seed) for seed in (7, 8)]
    assert min(bounds) > 0.9 * max(bounds)


@pytest.mark.nightly
def test_bound_of_rare_truth_is_stable_over_seeds():
    case = CASES["truth slips out"]
    bounds = [bound(case, rounds=20_000, shadows=20_000, seed=seed) for seed in range(28)]
    assert min(bounds) > 0.8 * np.median(bounds)


@pytest.mark.nightly
def test_bound_of_few_categories_is_stable_over_seeds():
    # Eight letters: a share just beyond the strongest of them would reach all of the next one.
    bounds = [bound(CASES["exponential"], rounds=20_000, shadows=20_000, seed=seed) for seed in range(28)]
    assert min(bounds) > 0.7 * np.median(bounds)


def test_rare_event_is_described():
    case = CASES["truth slips out"]
    reading = studied(case, 4_000, 1).scorer.reading
    assert reading.cut is not None
    assert " (in rare cases)" in reading.event


@pytest.mark.parametrize(("seeds", "most"), [(20, 5), pytest.param(40, 7, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_small_and_large_epsilons_get_sound_tight_bounds(epsilon, seeds, most):
    # The corrected bound of the likelihood ratio itself: .50 and .94 of the truth at 10,000 rounds.
    case = Case(
        name="laplace",
        release=lambda x, rng: x + rng.laplace(scale=1 / epsilon),
        pair=(100.0, 101.0),
        epsilon=epsilon,
    )
    found = [bound(case, rounds=10_000, shadows=10_000, seed=seed) for seed in range(seeds)]
    bounds = np.array(found) / epsilon
    assert np.median(bounds) > {0.1: 0.4, 4.0: 0.92}[epsilon]
    assert np.sum(bounds > 1) <= most  # at 5 % each, more than 5 of 20, or 7 of 40, have a chance below 1e-3


def exact_in_one_of_500_on_a_grid(value, rng):
    return value if rng.random() < 1 / 500 else round((value + rng.laplace()) * 1024) / 1024


GRID = Case(
    name="exact in 1 of 500, on a grid",
    release=exact_in_one_of_500_on_a_grid,
    pair=(100.0, 101.0),
    epsilon=1.0,
    delta=0.0,
)


def test_rare_exact_answer_is_found_among_values_of_a_grid():
    # Each of thousands of values occurs about seven times in the shadows, the exact answers some 27 times.
    bounds = [bound(GRID, rounds=20_000, shadows=20_000, seed=seed) for seed in (0, 2, 3)]
    assert min(bounds) > 1.0  # 0.94, 0.97 and 0.97 without looking for numbers that are outstanding


@pytest.mark.nightly
def test_rare_exact_answer_on_a_grid_is_found_as_often_as_by_an_attacker_who_knows_it():
    # Who guesses at 100 and 101 alone is above 1 in 97 % of audits: tests/test_page_tables.py.
    bounds = [bound(GRID, rounds=20_000, shadows=20_000, seed=seed) for seed in range(60)]
    stated = re.search(r"a few times too, in (\d+) of 60 audits", page_words("statistics.md"))[1]
    assert int(stated) == pytest.approx(np.sum(np.array(bounds) > 1), abs=1)  # sums of other machines
    assert int(stated) > 51
    assert np.median(bounds) > 1.4
