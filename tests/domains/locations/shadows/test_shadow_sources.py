import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, pipeline_file, town
from leakgauge.core.errors import BadInput
from leakgauge.core.loading import Loader
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.shadows.shadow_sources import USUAL, n_shadows, people_of, source

RNG = np.random.default_rng(1)
CELLS = np.arange(24)


def test_shadows_have_the_target_in_half_of_them():
    knowledge = build("auxiliary", {}, game(town(), RAW), seed=1)
    shadows = source(knowledge, RNG).train(0, CELLS, 40, RNG)
    assert shadows.rows.shape == (40, 24)
    assert shadows.members.sum() == 20


def test_the_known_are_taken_off():
    knowledge = build("informed", {}, game(town(), RAW), seed=1)
    shadows = source(knowledge, RNG).train(0, CELLS, 40, RNG)
    own = np.isin(CELLS, knowledge.sketches[0].cells)
    np.testing.assert_array_equal(shadows.rows, np.outer(shadows.members, own))


def test_earlier_releases_are_all_taken_as_they_are():
    knowledge = build("past", {"releases": 30}, game(town(), LAPLACE, targets=2), seed=1)
    shadows = source(knowledge, RNG).train(1, CELLS[:5], 30, RNG)
    np.testing.assert_array_equal(shadows.rows, knowledge.releases[:, :5])
    np.testing.assert_array_equal(shadows.members, knowledge.members[:, 1])


def test_who_knows_nobody_makes_people_up():
    knowledge = build("zero", {}, game(town(200, density=0.1), LAPLACE, group_size=60), seed=1)
    people = people_of(knowledge, RNG)
    assert people.n_people == 5_000
    assert 1 < people.n_visits.mean() < 5  # 2.4 in truth
    shadows = source(knowledge, RNG).train(0, CELLS, 40, RNG)
    assert shadows.members.sum() == 20


def test_who_has_traces_uses_them():
    knowledge = build("auxiliary", {}, game(town()), seed=1)
    assert people_of(knowledge, RNG) is knowledge.reference


def test_a_law_needs_no_shadows_and_a_pipeline_of_ones_own_does(tmp_path):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts\n")
    own = game(town(), {"name": "own", "release": "mine:publish"}, loader=Loader(tmp_path))
    known, unknown = (build("auxiliary", {}, challenger, seed=1) for challenger in (game(town()), own))
    assert n_shadows("it", None, known) == 0
    assert n_shadows("it", 0, known) == 0
    assert n_shadows("it", 11, known) == 12  # even, for both worlds
    assert n_shadows("it", None, unknown) == USUAL
    with pytest.raises(BadInput, match="it: shadows = 0 needs a law"):
        n_shadows("it", 0, unknown)
    with pytest.raises(BadInput, match="it: shadows must be"):
        n_shadows("it", -2, known)


def test_earlier_releases_take_the_place_of_shadows():
    knowledge = build("past", {"releases": 30}, game(town()), seed=1)
    assert n_shadows("it", None, knowledge) == 30
    with pytest.raises(BadInput, match="it: shadows = 50"):
        n_shadows("it", 50, knowledge)
