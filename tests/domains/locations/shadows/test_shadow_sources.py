import numpy as np
import pytest
from scipy.stats import ks_2samp

from domains.locations.small_town import LAPLACE, RAW, game, pipeline_file, town
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.shadows import shadow_sources
from leakgauge.domains.locations.shadows.shadow_sources import (
    DEFAULT_N_SHADOWS,
    SplitPastReleases,
    TraceShadowSource,
    n_shadows,
    people_to_sample,
    refuse_shadows_with_past,
    shadow_source,
    split_traces,
)
from leakgauge.domains.locations.shadows.simulator import ShadowSimulator
from leakgauge.support.user_code import UserCodeLoader

EVERYWHERE = np.arange(24)


def teacher(knowledge, sampling):
    return TraceShadowSource(knowledge.simulator, knowledge.simulator, sampling)


@pytest.mark.parametrize("mechanism", [RAW, LAPLACE])
def test_pairs_differ_by_target_alone(mechanism):
    knowledge = build("auxiliary", {}, game(town(), mechanism), seed=1)
    shadows = teacher(knowledge, "paired").train(0, EVERYWHERE, 40, np.random.default_rng(1))
    expected = np.zeros(24)
    expected[knowledge.sketches[0].cells] = 1
    difference = shadows.rows[shadows.members] - shadows.rows[~shadows.members]
    np.testing.assert_allclose(difference, np.tile(expected, (20, 1)), atol=1e-5)
    assert shadows.rows.dtype == np.float32


@pytest.mark.parametrize("sampling", ["paired", "independent"])
def test_blocks_hold_both_worlds(sampling, monkeypatch):
    monkeypatch.setattr(shadow_sources, "_MAX_ENTRIES", 24 * 6)
    knowledge = build("auxiliary", {}, game(town()), seed=1)
    shadows = teacher(knowledge, sampling).train(0, EVERYWHERE, 20, np.random.default_rng(1))
    assert [shadows.members[first : first + 6].sum() for first in (0, 6, 12, 18)] == [3, 3, 3, 1]
    assert len(np.unique(shadows.rows, axis=0)) == 20
    checks = teacher(knowledge, sampling).check(0, EVERYWHERE, 20, np.random.default_rng(1))
    assert checks.members.sum() == 10
    np.testing.assert_array_equal(checks.outputs, checks.left)


def test_known_counts_are_subtracted_from_training_data():
    knowledge = build("informed", {}, game(town(), RAW), seed=1)
    shadows = teacher(knowledge, "independent").train(0, EVERYWHERE, 30, np.random.default_rng(1))
    expected = np.zeros(24)
    expected[knowledge.sketches[0].cells] = 1
    np.testing.assert_array_equal(shadows.rows, np.outer(shadows.members, expected))


def test_validation_uses_other_people_if_possible():
    roomy = build("auxiliary", {}, game(town(400)), seed=1)
    found = split_traces(roomy.sketches, roomy.public, roomy.reference, 0.0, np.random.default_rng(1))
    rows = [{bytes(row) for row in half.crowd.visits.toarray()} for half in (found.training, found.checking)]
    assert found.training.crowd.n_people + found.checking.crowd.n_people == roomy.reference.n_people
    assert len(rows[0] & rows[1]) < len(rows[0])  # people alike there may be
    narrow = build("auxiliary", {}, game(town(100)), seed=1)
    found = split_traces(narrow.sketches, narrow.public, narrow.reference, 0.0, np.random.default_rng(1))
    assert found.training is found.checking


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_known_people_do_not_change_distribution_beyond_them(relation):
    challenger = game(town(400), LAPLACE | {"round": True}, relation=relation, targets=3)
    knowledge = build("partial", {"theta": 0.7}, challenger, seed=1)
    found = split_traces(
        knowledge.sketches, knowledge.public, knowledge.reference, 0.7, np.random.default_rng(1)
    )
    assert found.training.theta == 0.0
    cells = knowledge.sketches[0].cells
    simulator = ShadowSimulator(found.training.public, knowledge.crowd, knowledge.sketches)
    short = TraceShadowSource(simulator, simulator)
    quick = short.check(0, cells, 8000, np.random.default_rng(2))
    slow = teacher(knowledge, "independent").check(0, cells, 8000, np.random.default_rng(3))
    for world in (True, False):
        sums = [some.left[some.members == world].sum(axis=1) for some in (quick, slow)]
        assert ks_2samp(*sums).pvalue > 0.001


def test_known_people_stay_when_counts_are_clamped():
    challenger = game(town(400), LAPLACE | {"clamp": True})
    knowledge = build("informed", {}, challenger, seed=1)
    found = split_traces(
        knowledge.sketches, knowledge.public, knowledge.reference, 1.0, np.random.default_rng(1)
    )
    assert found.training.theta == 1.0


def test_earlier_releases_are_split_four_to_one():
    past = build("past", {"releases": 50}, game(town(), targets=2), seed=1)
    found = SplitPastReleases(past)
    rng = np.random.default_rng(1)
    for target in (0, 1):
        train, check = found.train(target, EVERYWHERE, 0, rng), found.check(target, EVERYWHERE, 0, rng)
        together = np.concatenate([train.rows, check.left.astype(np.float32)])
        np.testing.assert_array_equal(
            np.sort(together, axis=0), np.sort(past.releases.astype(np.float32), axis=0)
        )
        for world in (True, False):
            n = int((past.members[:, target] == world).sum())
            assert (check.members == world).sum() == -(-n // 5)
        some = np.array([3, 7])
        np.testing.assert_array_equal(found.check(target, some, 0, rng).left, check.left[:, some])


def test_rejects_too_few_earlier_releases():
    past = build("past", {"releases": 1}, game(town()), seed=1)
    with pytest.raises(BadInput, match=r"raise knowledge\.releases"):
        SplitPastReleases(past).train(0, EVERYWHERE, 0, np.random.default_rng(1))


def test_rejects_shadow_count_beside_earlier_releases():
    refuse_shadows_with_past("it", shadows=None)
    with pytest.raises(BadInput, match="it: shadows = 7, but with knowledge 'past'"):
        refuse_shadows_with_past("it", shadows=7)


RNG = np.random.default_rng(1)
CELLS = np.arange(24)


def test_half_of_shadows_contain_target():
    knowledge = build("auxiliary", {}, game(town(), RAW), seed=1)
    shadows = shadow_source(knowledge, RNG).train(0, CELLS, 40, RNG)
    assert shadows.rows.shape == (40, 24)
    assert shadows.members.sum() == 20


def test_known_counts_are_subtracted():
    knowledge = build("informed", {}, game(town(), RAW), seed=1)
    shadows = shadow_source(knowledge, RNG).train(0, CELLS, 40, RNG)
    own = np.isin(CELLS, knowledge.sketches[0].cells)
    np.testing.assert_array_equal(shadows.rows, np.outer(shadows.members, own))


def test_earlier_releases_are_used_unchanged():
    knowledge = build("past", {"releases": 30}, game(town(), LAPLACE, targets=2), seed=1)
    shadows = shadow_source(knowledge, RNG).train(1, CELLS[:5], 30, RNG)
    np.testing.assert_array_equal(shadows.rows, knowledge.releases[:, :5])
    np.testing.assert_array_equal(shadows.members, knowledge.members[:, 1])


def test_zero_knowledge_simulates_people():
    knowledge = build("zero", {}, game(town(200, density=0.1), LAPLACE, group_size=60), seed=1)
    people = people_to_sample(knowledge, RNG)
    assert people.n_people == 5_000
    assert 1 < people.n_visits.mean() < 5  # 2.4 in truth
    shadows = shadow_source(knowledge, RNG).train(0, CELLS, 40, RNG)
    assert shadows.members.sum() == 20


def test_known_traces_are_used():
    knowledge = build("auxiliary", {}, game(town()), seed=1)
    assert people_to_sample(knowledge, RNG) is knowledge.reference


def test_shadows_are_needed_for_user_pipeline_only(tmp_path):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts\n")
    own = game(town(), {"name": "own", "release": "mine:publish"}, loader=UserCodeLoader(tmp_path))
    known, unknown = (build("auxiliary", {}, challenger, seed=1) for challenger in (game(town()), own))
    assert n_shadows("it", None, known) == 0
    assert n_shadows("it", 0, known) == 0
    assert n_shadows("it", 11, known) == 12  # even, for both worlds
    assert n_shadows("it", None, unknown) == DEFAULT_N_SHADOWS
    with pytest.raises(BadInput, match="it: shadows = 0 needs a known noise distribution"):
        n_shadows("it", 0, unknown)
    with pytest.raises(BadInput, match="it: shadows must be"):
        n_shadows("it", -2, known)


def test_earlier_releases_replace_shadows():
    knowledge = build("past", {"releases": 30}, game(town()), seed=1)
    assert n_shadows("it", None, knowledge) == 30
    with pytest.raises(BadInput, match="it: shadows = 50"):
        n_shadows("it", 50, knowledge)
