from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from domains.locations.small_town import LAPLACE, game, pipeline_file, town, traces
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, Trials, play
from leakgauge.domains.locations import knowledge
from leakgauge.domains.locations.attacks.likelihood import Attack
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.crowd_cells import EQUAL_CELLS, CellBelief, CrowdCells
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.exposure import expose, informed_optimum_by_cells
from leakgauge.domains.locations.mobility.cell_rates import rates_from_reference
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import discrete_gaussian, gaussian, geometric, laplace, logistic
from leakgauge.support.user_code import UserCodeLoader
from leakgauge.theory import asymmetric_composition
from leakgauge.theory.asymmetric_composition import DistributionPair
from leakgauge.theory.loss_composition import best_attack
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell
from mechanisms import independent_optimum
from night import others_at_night

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


def test_kinds_differ_by_assumed_rate_and_shape(crowd):
    rates, shapes = np.array([[0.1, 0.2, 0.2]] * 3), np.array([[np.inf, 3.0, 8.0]] * 3)
    kinds = replace(crowd, merging=EQUAL_CELLS).by_belief(CellBelief(rates, shapes))
    assert kinds.belief is not None
    for person, row in enumerate(kinds.cells.toarray()):
        visited = VISITS[person] == 1
        np.testing.assert_allclose(np.sort(np.repeat(kinds.belief.rates, row)), np.sort(rates[0][visited]))
        np.testing.assert_allclose(np.sort(np.repeat(kinds.belief.shapes, row)), np.sort(shapes[0][visited]))


def test_reference_counts_exclude_the_person(crowd):
    rates = rates_from_reference(traces(VISITS).of(PEOPLE.reference))
    believed = crowd.believed(rates)
    for part, of in zip(believed, (rates, rates.shapes), strict=True):
        np.testing.assert_allclose(part[0], of(np.arange(3), 1.0))  # the target is one visitor more
        np.testing.assert_allclose(part[2], of(np.arange(3), 0.0))  # in the reference it is there already


def test_subset_of_people_keeps_the_crowd(crowd):
    kinds = crowd.only(np.array([3, 0])).by_count()
    counts = [np.repeat(kinds.visitors, row).tolist() for row in kinds.cells.toarray()]
    assert counts == [[1, 2], [2]]


NUMBERS = np.array([3, 0, 60, 1, 20, 3])


@pytest.mark.parametrize(
    ("noise", "cell"),
    [
        (laplace.Mechanism(scale=2.0), LaplaceCell(0.5)),
        (geometric.Mechanism(scale=2.0), GeometricCell(0.5)),
    ],
    ids=["laplace", "geometric"],
)
def test_unrounded_noise_matches_tight_composition(noise, cell):
    found, error = informed_optimum_by_cells(ReleaseChain(noise=noise, group_size=9), NUMBERS)
    assert error < 1e-5
    for i, n in enumerate(NUMBERS.tolist()):
        best = best_attack([(cell, n)])
        assert best.accuracy[0] - 1e-12 <= found.accuracy[i] <= best.accuracy[1] + 1e-12
        assert best.auc[0] - 1e-12 <= found.auc[i] <= best.auc[1] + 1e-12
        low, high = best.tpr_at(0.01)
        assert low - 1e-12 <= found.tpr[i] <= high + 1e-12


@pytest.mark.parametrize(
    ("noise", "losses"),
    [
        (logistic.Mechanism(scale=2.0), independent_optimum.logistic_losses(2.0)),
        (
            discrete_gaussian.Mechanism(sigma=3.0, delta=1e-5),
            independent_optimum.discrete_gaussian_losses(3.0),
        ),
    ],
    ids=["logistic", "discrete_gaussian"],
)
def test_other_noise_matches_textbook_distribution(noise, losses):
    found, error = informed_optimum_by_cells(ReleaseChain(noise=noise, group_size=9), NUMBERS)
    assert error < 1e-4
    expected = [independent_optimum.best_accuracy(*losses, n) for n in NUMBERS.tolist()]
    np.testing.assert_allclose(found.accuracy, expected, atol=3e-4)


@pytest.mark.parametrize("noise", [logistic.Mechanism(scale=2.0), laplace.Mechanism(scale=2.0)])
def test_rounding_does_not_increase_optimum(noise):
    """Rounded noise is computed by another way than noise alone."""
    numbers = np.array([1, 5, 20])
    plain, _ = informed_optimum_by_cells(ReleaseChain(noise=noise, group_size=9), numbers)
    less, error = informed_optimum_by_cells(ReleaseChain(noise=noise, group_size=9, round=True), numbers)
    assert (less.accuracy <= plain.accuracy + error + 1e-5).all()
    assert (less.accuracy >= 0.5).all()


def test_gaussian_noise_matches_closed_form():
    found, error = informed_optimum_by_cells(
        ReleaseChain(noise=gaussian.Mechanism(sigma=8.0, delta=1e-5), group_size=9), NUMBERS
    )
    assert error == 0
    np.testing.assert_allclose(found.accuracy, ndtr(np.sqrt(NUMBERS) / 16))
    np.testing.assert_allclose(found.auc, ndtr(np.sqrt(NUMBERS / 2) / 8))


def test_rounded_laplace_has_three_losses():
    """Laplace noise rounded down leaves a loss of +-epsilon or of zero."""
    found, _ = informed_optimum_by_cells(
        ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=9, round=True), NUMBERS
    )
    falls = np.exp(-1.0)
    members = np.array([1, 1 - falls, falls]) / 2
    for i, n in enumerate(NUMBERS.tolist()):
        best = asymmetric_composition.best_attack([(DistributionPair.of(members, members[::-1]), n)])
        assert found.accuracy[i] == pytest.approx(best.accuracy[0], abs=2e-5)
        assert found.auc[i] == pytest.approx(best.auc[0], abs=2e-5)


def test_raw_counts_reveal_everyone_to_informed_attacker():
    found, _ = informed_optimum_by_cells(ReleaseChain(noise=None, group_size=9), NUMBERS)
    np.testing.assert_array_equal(found.auc, np.where(NUMBERS > 0, 1.0, 0.5))


def test_many_cells_stay_within_stated_error():
    numbers = np.arange(1, 400)
    found, error = informed_optimum_by_cells(
        ReleaseChain(noise=laplace.Mechanism(scale=10.0), group_size=9), numbers
    )
    assert error < 1e-5
    for n in (1, 2, 37, 111, 253):
        best = best_attack([(LaplaceCell(0.1), n)])
        assert found.accuracy[n - 1] == pytest.approx(np.mean(best.accuracy), abs=2e-5)
        assert found.auc[n - 1] == pytest.approx(np.mean(best.auc), abs=2e-5)
        assert found.tpr[n - 1] == pytest.approx(float(np.mean(best.tpr_at(0.01))), abs=2e-5)


def test_no_cells_are_no_exposure():
    found, error = informed_optimum_by_cells(
        ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=9), np.zeros(2, dtype=np.int64)
    )
    assert (found.accuracy.tolist(), found.auc.tolist(), found.tpr.tolist()) == (
        [0.5] * 2,
        [0.5] * 2,
        [0.01] * 2,
    )
    assert error == 0


SUPPRESSED = {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 1}


def independent_city(n_people: int, seed: int) -> Traces:
    """People who decide about every cell by itself; busy cells and quiet ones."""
    rng = np.random.default_rng(seed)
    space, time = np.exp(rng.normal(size=20)), np.exp(0.7 * rng.normal(size=30))
    rates = np.minimum(12 * np.outer(space / space.sum(), time / time.sum()).ravel(), 0.5)
    return traces(rng.random((n_people, 600)) < rates, n_epochs=30)


def about(challenger: Challenger, person: int) -> Challenger:
    """The same game about somebody else."""
    old = challenger.people
    people = PopulationSplit(
        np.array([person]), np.setdiff1d(old.pool, person), np.setdiff1d(old.reference, person)
    )
    return replace(challenger, people=people)


def auc(trials: Trials) -> float:
    absent = np.sort(trials.scores[~trials.members])
    present = trials.scores[trials.members]
    wins = np.searchsorted(absent, present, "left") + np.searchsorted(absent, present, "right")
    return float(wins.mean() / (2 * absent.size))


def test_informed_exposure_matches_composition():
    found = expose(game(town()))
    informed = found.against[0]
    assert informed.adversary == "informed"
    assert informed.error < 1e-5
    for cells in np.unique(found.cells):
        best = best_attack([(LaplaceCell(1.0), int(cells))])
        np.testing.assert_allclose(informed.accuracy[found.cells == cells], np.mean(best.accuracy), atol=1e-6)
        np.testing.assert_allclose(informed.auc[found.cells == cells], np.mean(best.auc), atol=1e-6)
        np.testing.assert_allclose(informed.tpr[found.cells == cells], np.mean(best.tpr_at(0.01)), atol=1e-6)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_more_knowledge_exposes_more(relation):
    found = expose(game(independent_city(800, 1), SUPPRESSED, group_size=200, relation=relation))
    informed, auxiliary, zero = found.against
    assert (informed.auc > auxiliary.auc - 2e-3).all()
    assert informed.auc.mean() > auxiliary.auc.mean() + 0.05
    assert auxiliary.auc.mean() > zero.auc.mean() - 0.005
    assert zero.auc.mean() > 0.6
    for one in found.against:
        assert (one.accuracy >= 0.5).all()
        assert one.error < 5e-3


def test_post_processing_never_exposes_more():
    city = independent_city(400, 2)
    plain, cut = (expose(game(city, mechanism, group_size=100)) for mechanism in (LAPLACE, SUPPRESSED))
    assert (cut.against[0].auc <= plain.against[0].auc + 1e-3).all()
    assert (cut.against[0].accuracy <= plain.against[0].accuracy + 1e-3).all()


def test_person_without_visits_is_not_exposed():
    visits = np.random.default_rng(1).random((80, 24)) < 0.2
    visits[:5] = False
    visits[5:, 0] = True
    found = expose(game(traces(visits, n_epochs=6), SUPPRESSED))
    for one in found.against:
        np.testing.assert_array_equal(one.accuracy[:5], 0.5)
        np.testing.assert_array_equal(one.auc[:5], 0.5)
        np.testing.assert_array_equal(one.tpr[:5], 0.01)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_cell_visited_by_all_exposes_nobody(relation):
    visits = np.zeros((120, 4), dtype=bool)
    visits[:, 0] = True
    visits[::2, 1] = True
    found = expose(game(traces(visits), SUPPRESSED, group_size=30, relation=relation))
    informed = found.against[0]
    if relation == "replace_one":  # their replacement is there too
        np.testing.assert_allclose(informed.auc[1::2], 0.5, atol=1e-6)
    assert (informed.auc[::2] > 0.55).all()


def test_rejects_unknown_adversaries():
    assert [one.adversary for one in expose(game(town()), ("informed",)).against] == ["informed"]
    with pytest.raises(BadInput, match="informed, auxiliary, zero"):
        expose(game(town()), ("everybody",))


def test_ceiling_is_stated_only_where_exact():
    city = town(n_people=100)
    added, replaced = (expose(game(city, relation=relation)) for relation in ("add_remove", "replace_one"))
    assert "no attacker can do better" in added.against[0].basis
    assert any("is an upper bound on any attacker" in note for note in added.notes)
    assert "not an upper bound" in replaced.against[0].basis
    assert not any("is an upper bound on any attacker" in note for note in replaced.notes)


def test_exposure_is_reproducible():
    first, again = (expose(game(town(n_people=100), SUPPRESSED)) for _ in range(2))
    for one, other in zip(first.against, again.against):
        np.testing.assert_array_equal(one.auc, other.auc)


def test_rejects_user_pipeline_without_distribution(tmp_path):
    pipeline_file(tmp_path, "def release(counts, rng):\n    return counts\n")
    challenger = game(town(), {"name": "own", "release": "mine:release"}, loader=UserCodeLoader(tmp_path))
    with pytest.raises(BadInput, match="mechanism 'own' is not known; simulate releases instead"):
        expose(challenger)


@pytest.mark.parametrize(
    ("relation", "n_people"),
    others_at_night(product(["add_remove", "replace_one"], [25, 50]), ("replace_one", 25)),
)
def test_exposure_matches_simulation_for_many_people(relation, n_people):
    challenger = game(independent_city(2_000, 3), SUPPRESSED, group_size=400, relation=relation)
    found = expose(challenger)
    people = np.random.default_rng(4).choice(np.flatnonzero(found.cells >= 3), n_people, replace=False)
    differences: dict[str, list[float]] = {"informed": [], "auxiliary": []}
    own: dict[str, list[float]] = {"informed": [], "auxiliary": []}
    for person in people.tolist():
        game_about = about(challenger, person)
        adversaries = {}
        for name in differences:
            knows = knowledge.build(name, {}, game_about, 1)
            scorer = Attack(fit="never", shadows=0).study(knows, np.random.default_rng(person))
            adversaries[name] = Adversary(knows, scorer)
        for name, trials in play(game_about, adversaries, seed=person, rounds=range(1_500), block=0).items():
            exposed = next(one for one in found.against if one.adversary == name)
            differences[name].append(auc(trials) - float(exposed.auc[person]))
            at_zero = ((trials.scores > 0) == trials.members) + 0.5 * (trials.scores == 0)
            own[name].append(float(at_zero.mean() - exposed.metric("accuracy_own")[person]))
    for name, each in [*differences.items(), *own.items()]:
        error = np.std(each) / np.sqrt(n_people)
        assert abs(np.mean(each)) < 3.5 * error + 1e-3, name
        assert np.std(each) < 0.03, name
