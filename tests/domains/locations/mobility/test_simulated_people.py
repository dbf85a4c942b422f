import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, town, traces
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.mobility.mobility_profile import total_variation
from leakgauge.domains.locations.mobility.simulated_people import SimulatedPeople, known_profile


def habits_of(people):
    """Visits per person, and the shares of places, by adding up."""
    visits = people.visits.toarray().reshape(people.n_people, people.map.n_places, people.map.n_epochs)
    return visits.sum() / people.n_people, visits.sum(axis=(0, 2)) / visits.sum()


def uneven_town():
    rng = np.random.default_rng(1)
    places = np.repeat([0.02, 0.1, 0.3, 0.05], 6)
    return traces(rng.random((600, 24)) < places, n_epochs=6)


@pytest.mark.parametrize("name", ["auxiliary", "past", "zero"])
def test_profile_matches_given_people(name):
    challenger = game(uneven_town(), RAW, group_size=200)
    knowledge = build(name, {"releases": 5} if name == "past" else {}, challenger, seed=1)
    mean, space = habits_of(challenger.traces)
    found = known_profile(knowledge)
    assert found.mean == pytest.approx(mean, rel=0.1)
    assert total_variation(found.space, space) < 0.05


@pytest.mark.parametrize("marginals", ["deconvolution", "guan24", "log", "power", "raw", "published"])
def test_people_are_simulated_from_a_release(marginals):
    challenger = game(uneven_town(), LAPLACE | {"round": True, "clamp": True}, group_size=200)
    zero = build("zero", {}, challenger, seed=1)
    said = SimulatedPeople(marginals=marginals)
    people = said.people(said.habits(zero.earlier, zero.public), zero.public, np.random.default_rng(1))
    assert people.n_people == 5000
    mean, space = habits_of(people)
    true_mean, true_space = habits_of(challenger.traces)
    assert mean == pytest.approx(true_mean, rel=0.3)  # repeated visits count once
    if marginals == "deconvolution":
        assert total_variation(space, true_space) < 0.06


def test_more_people_than_group_size_are_simulated():
    public = build("zero", {}, game(town(8000, density=0.01), RAW, group_size=3000), seed=1).public
    assert SimulatedPeople().n_people(public) == 6000
    assert SimulatedPeople(traces=3001).n_people(public) == 3001
    with pytest.raises(BadInput, match="too few for groups of 3000"):
        SimulatedPeople(traces=3000).n_people(public)


def test_paper_marginals_need_known_chain():
    zero = build("zero", {}, game(town(), RAW), seed=1)
    own = type(zero.public)(object(), 20, 1, zero.public.relation, zero.public.map)
    with pytest.raises(BadInput, match="needs a chain that is known"):
        SimulatedPeople(marginals="log").habits(zero.earlier, own)
