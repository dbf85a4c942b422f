import numpy as np
import pytest

from domains.locations.small_town import traces
from leakgauge.domains.locations.cell_exposure.cell_kinds import CrowdCells
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.mobility.cell_rates import rates_from_reference

VISITS = np.array(
    [
        [1, 0, 0],  # a target
        [1, 1, 0],  # the pool
        [0, 1, 0],
        [1, 1, 0],
        [1, 0, 1],  # the reference
        [0, 0, 1],
    ]
)
PEOPLE = PopulationSplit(targets=np.array([0]), pool=np.array([1, 2, 3]), reference=np.array([4, 5]))


@pytest.fixture
def crowd() -> CrowdCells:
    return CrowdCells.of(traces(VISITS), PEOPLE)


def test_others_exclude_the_person(crowd):
    kinds = crowd.by_count()
    counts = [np.repeat(kinds.visitors, row).tolist() for row in kinds.cells.toarray()]
    # The first cell has two visitors in the pool, the second three, the third none.
    assert counts == [[2], [1, 2], [2], [1, 2], [0, 2], [0]]


def test_kinds_differ_by_assumed_rate(crowd):
    rates = np.array([[0.1, 0.2, 0.3]] * 3)
    kinds = crowd.by_belief(rates, exactly=True)
    assert kinds.rates is not None
    for person, row in enumerate(kinds.cells.toarray()):
        believed = np.repeat(kinds.rates, row)
        np.testing.assert_allclose(np.sort(believed), rates[0][VISITS[person] == 1])


def test_reference_counts_exclude_the_person(crowd):
    rates = rates_from_reference(traces(VISITS).of(PEOPLE.reference))
    believed = crowd.believed(rates)
    np.testing.assert_allclose(believed[0], rates(np.arange(3), 1.0))  # the target is one visitor more
    np.testing.assert_allclose(
        believed[2], rates(np.arange(3), 0.0)
    )  # and in the reference it is there already


def test_subset_of_people_keeps_the_crowd(crowd):
    kinds = crowd.only(np.array([3, 0])).by_count()
    counts = [np.repeat(kinds.visitors, row).tolist() for row in kinds.cells.toarray()]
    assert counts == [[1, 2], [2]]
