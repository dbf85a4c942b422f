from dataclasses import fields

import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, town, traces
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
    build,
)
from leakgauge.domains.locations.release import LocationsView

ALL = np.arange(24)


def know(name, challenger=None, seed=1, **parameters):
    return build(name, parameters, challenger or game(town(), targets=3), seed)


def seen_by(knowledge, challenger, members=None):
    members = challenger.flip(6, stream(1, Role.BITS)) if members is None else members
    played = challenger.release(members, stream(1, Role.RELEASE))
    return knowledge.view(played), played


def test_knowledge_has_declared_fields_only():
    assert [field.name for field in fields(AuxiliaryKnowledge)] == [
        "public",
        "sketches",
        "crowd",
        "theta",
        "known_counts",
    ]
    assert [field.name for field in fields(PastReleasesKnowledge)] == [
        "public",
        "sketches",
        "releases",
        "members",
    ]
    assert [field.name for field in fields(ZeroKnowledge)] == ["public", "sketches", "earlier"]


@pytest.mark.parametrize("name", ["informed", "auxiliary", "past", "zero"])
def test_target_traces_are_complete_by_default(name):
    challenger = game(town(), targets=3)
    for person, sketch in zip(challenger.people.targets, know(name, challenger).sketches, strict=True):
        assert sketch.cells.tolist() == challenger.traces.cells(person).tolist()
        assert sketch.complete


@pytest.mark.parametrize("name", ["informed", "auxiliary", "zero"])
def test_partial_trace_is_shared_by_adversaries(name):
    challenger = game(town(), targets={"n": 3, "min_visits": 3})
    half = know("auxiliary", challenger, trace=0.5).sketches
    for mine, own in zip(know(name, challenger, trace=0.5).sketches, half, strict=True):
        assert mine.cells.tolist() == own.cells.tolist()
    assert [sketch.cells.size for sketch in know(name, challenger, observations=2).sketches] == [2, 2, 2]


def test_reference_excludes_targets_and_pool():
    """Everybody has a cell of their own."""
    challenger = game(traces(np.eye(40, dtype=int)), RAW, targets=3, group_size=10)
    knowledge = know("auxiliary", challenger)
    assert np.flatnonzero(knowledge.visitors).tolist() == challenger.people.reference.tolist()
    assert knowledge.reference.n_people == 17


@pytest.mark.parametrize(
    ("name", "parameters", "n_known"),
    [
        ("informed", {}, 17),
        ("partial", {"theta": 0.5}, 8),
        ("partial", {"theta": 1.0}, 17),
        ("partial", {"theta": 0.0}, 0),
        ("auxiliary", {}, 0),
        ("zero", {}, 0),
        ("past", {}, 0),
    ],
)
def test_known_others_are_the_first_of_the_group(name, parameters, n_known):
    challenger = game(town(), targets=3)
    seen, played = seen_by(know(name, challenger, **parameters), challenger)
    np.testing.assert_array_equal(seen.known(ALL), played.rounds.known(n_known, ALL))
    assert len(seen.at(np.arange(3))) == 6


def test_knowledge_is_nested():
    challenger = game(town(), targets=3)
    less, _ = seen_by(know("partial", challenger, theta=0.3), challenger)
    more, _ = seen_by(know("partial", challenger, theta=0.8), challenger)
    assert (less.known(ALL) <= more.known(ALL)).all()


def test_informed_knows_all_but_targets():
    """Published raw, what is beyond the known are the targets who are in."""
    challenger = game(town(), RAW, targets=3)
    members = challenger.flip(6, stream(1, Role.BITS))
    seen, _ = seen_by(know("informed", challenger), challenger, members)
    own = challenger.traces.visits[challenger.people.targets].toarray()
    np.testing.assert_array_equal(seen.whole - seen.known(ALL), members @ own)


def test_everyone_sees_the_release():
    challenger = game(town(), targets=3)
    members = challenger.flip(6, stream(1, Role.BITS))
    views = [
        seen_by(know(name, challenger), challenger, members)[0]
        for name in ("informed", "auxiliary", "past", "zero")
    ]
    for seen in views:
        np.testing.assert_array_equal(seen.whole, views[0].whole)
        np.testing.assert_array_equal(seen.at(np.array([2, 9])), views[0].whole[:, [2, 9]])


def test_knowledge_does_not_depend_on_target_bits():
    challenger = game(town(), targets=3)
    knowledge = know("informed", challenger)
    nobody, everybody = (
        seen_by(knowledge, challenger, np.full((6, 3), bit))[0].known(ALL) for bit in (False, True)
    )
    np.testing.assert_array_equal(nobody, everybody)


def test_earlier_releases_come_with_membership():
    challenger = game(town(), RAW, targets=3)
    past = know("past", challenger, releases=12)
    assert past.releases.shape == (12, 24)
    assert past.members.shape == (12, 3)
    members, played = challenger.earlier(12)
    np.testing.assert_array_equal(past.members, members)
    np.testing.assert_array_equal(past.releases, played.whole)


def test_prior_rates_match_reference():
    knowledge = know("auxiliary")
    prior = knowledge.prior(0, pseudo=0.0)
    cells = knowledge.sketches[0].cells
    expected = knowledge.reference.visits.toarray()[:, cells].mean(axis=0)
    np.testing.assert_allclose(prior.rates, expected)
    flat = knowledge.prior(0, pseudo=1e9).rates
    np.testing.assert_allclose(
        flat, knowledge.visitors.sum() / (knowledge.reference.n_people * 24), rtol=1e-6
    )


def two_targets_and_more(relation="add_remove"):
    """Three people with the most visits, who share cells; all others have a cell of their own."""
    visits = np.zeros((63, 65), dtype=int)
    visits[:3, :5] = [[1, 1, 1, 1, 0], [1, 0, 1, 1, 1], [0, 1, 1, 1, 0]]
    visits[3:, 5:] = np.eye(60, dtype=int)
    return game(traces(visits), targets={"n": 3, "choose": "most"}, relation=relation)


def test_other_targets_count_as_random_bits():
    knowledge = know("auxiliary", two_targets_and_more())
    coins = [knowledge.prior(target, 0.0).coins.tolist() for target in range(3)]
    assert coins == [[1, 1, 2, 2], [1, 2, 2, 0], [1, 2, 2]]


@pytest.mark.parametrize(
    ("relation", "parameters", "sizes"),
    [
        ("add_remove", {}, (17, 17)),
        ("add_remove", {"observations": 2}, (18, 18)),  # one of the other two targets, anywhere
        ("replace_one", {}, (18, 19)),  # somebody for one of the other two; somebody for the target
        ("replace_one", {"observations": 2}, (19, 20)),
    ],
)
def test_unknown_people_are_counted(relation, parameters, sizes):
    prior = know("auxiliary", two_targets_and_more(relation), **parameters).prior(0, 0.0)
    assert (prior.n_in, prior.n_out) == sizes
    informed = know("informed", two_targets_and_more(relation), **parameters).prior(0, 0.0)
    assert (informed.n_in, informed.n_out) == (sizes[0] - 17, sizes[1] - 17)


def test_places_without_times_are_weighted_by_reference():
    challenger = game(town(), targets=2)
    knowledge = know("auxiliary", challenger, places=1)
    for person, sketch in zip(challenger.people.targets, knowledge.sketches, strict=True):
        places = challenger.traces.map.places(challenger.traces.cells(person))
        (place,) = set(challenger.traces.map.places(sketch.cells))
        assert np.bincount(places).max() == np.sum(places == place)
        assert ((sketch.weights > 0) & (sketch.weights < 1)).all()


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("informd", {}, "did you mean 'informed'"),
        ("informed", {"places": 1}, "knowledge 'informed': no key is called 'places'"),
        ("auxiliary", {"theta": 0.5}, "no key is called 'theta'"),
        ("partial", {}, "'theta' is missing"),
        ("partial", {"theta": 1.5}, r"theta must be in \[0, 1\], got 1.5"),
        ("partial", {"theta": float("nan")}, r"theta must be in \[0, 1\], got nan"),
        ("auxiliary", {"trace": 0.0}, r"trace must be in \(0, 1\], got 0.0"),
        ("auxiliary", {"trace": float("nan")}, r"trace must be in \(0, 1\]"),
        ("auxiliary", {"observations": 0}, "observations must be >= 1"),
        ("auxiliary", {"observations": 99}, "raise challenger.targets.min_visits"),
        ("auxiliary", {"trace": 0.5, "observations": 3}, "keep one of them"),
        ("auxiliary", {"places": 0}, "places must be >= 1"),
        ("auxiliary", {"places": "al"}, "places"),
        ("auxiliary", {"places": 1, "spread": "greed"}, "did you mean 'greedy'"),
        ("past", {"releases": 0}, "releases must be >= 1"),
        ("friends", {"friends": 0}, "friends must be >= 1"),
    ],
)
def test_rejects_unavailable_knowledge(name, parameters, problem):
    with pytest.raises(BadInput, match=problem):
        know(name, **parameters)


def test_adversaries_share_one_copy_of_reference():
    challenger = game(town(), targets=3)
    crowds = {
        id(know(name, challenger, **given).crowd)
        for name, given in (("auxiliary", {}), ("informed", {}), ("partial", {"theta": 0.5}), ("friends", {}))
    }
    assert crowds == {id(challenger.reference)}


def test_relations_are_public():
    challenger = game(town(), LAPLACE, targets=3, relation="replace_one")
    assert know("zero", challenger).public.relation is Relation.REPLACE_ONE
    assert isinstance(seen_by(know("zero", challenger), challenger)[0], LocationsView)
