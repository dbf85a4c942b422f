"""Releases that count everyone in the data: the true table, with or without each target."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import laplace as laplace_noise

from domains.locations.small_town import LAPLACE, RAW, game, town, traces
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, KnowledgeBySplit, play
from leakgauge.domains.locations import knowledge
from leakgauge.domains.locations.attacks.likelihood import Attack
from leakgauge.domains.locations.challenger import build
from leakgauge.domains.locations.exposure import expose
from leakgauge.domains.locations.plan_tables import read_challenger_table
from leakgauge.exposure import AuditExposure, summarise
from leakgauge.limits import Limits
from leakgauge.runner.play_block import study_attack
from leakgauge.summary import recognised_risk
from positive_control_play import played

SUPPRESSED = {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 1}
CITY = {"source": "synthetic", "users": 300, "sites": 20, "epochs": 48}


def whole(people=None, mechanism=LAPLACE, **setting):
    return game(town() if people is None else people, mechanism, group_size="everyone", **setting)


def about(challenger, person):
    """The same table with somebody else as the only target."""
    everybody = np.arange(challenger.traces.n_people)
    people = replace(challenger.people, targets=np.array([person]), pool=np.setdiff1d(everybody, person))
    return replace(challenger, people=people)


def test_table_is_everybody_but_absent_targets():
    people = town()
    challenger = whole(people, RAW, targets=4)
    members = challenger.flip(30, np.random.default_rng(1))
    released = challenger.release(members, np.random.default_rng(2))
    visits = people.visits.toarray().astype(int)
    for bits, table in zip(members, released.whole):
        absent = challenger.people.targets[~bits]
        np.testing.assert_array_equal(table, np.delete(visits, absent, axis=0).sum(axis=0))


def test_cells_of_targets_are_the_same_alone_and_in_the_whole_table():
    challenger = whole(targets=3)
    members = challenger.flip(8, np.random.default_rng(1))
    first, again = (challenger.release(members, np.random.default_rng(2)) for _ in range(2))
    alone = first.at(first.near)
    np.testing.assert_array_equal(alone, again.whole[:, again.near])


def test_informed_attacker_sees_all_others_and_no_bit_of_a_target():
    challenger = whole(targets=3)
    knows = knowledge.build("informed", {}, challenger, 1)
    cells = np.arange(challenger.traces.map.n_cells)
    visits = challenger.traces.visits.toarray().astype(int)
    others = np.delete(visits, challenger.people.targets, axis=0).sum(axis=0)
    for bits in (np.zeros((5, 3), dtype=bool), np.ones((5, 3), dtype=bool)):
        view = knows.view(challenger.release(bits, np.random.default_rng(3)))
        np.testing.assert_array_equal(view.known(cells), np.tile(others, (5, 1)))


def test_partial_attacker_knows_a_part_that_stays_the_same():
    challenger = whole(targets=1, splits=1)
    knows = knowledge.build("partial", {"theta": 0.5}, challenger, 1)
    cells = np.arange(challenger.traces.map.n_cells)
    members = np.ones((4, 1), dtype=bool)
    known = [knows.view(challenger.release(members, np.random.default_rng(i))).known(cells) for i in (1, 2)]
    np.testing.assert_array_equal(known[0], known[1])
    np.testing.assert_array_equal(known[0][0], knows.known_counts)
    assert knows.simulator.n_known == 29
    assert (known[0] <= challenger.others.counts).all()


def test_fitted_thresholds_count_for_informed_attackers_only():
    assert whole().overfitted_knowledge == ("partial", "auxiliary", "past", "zero", "friends")
    assert game(town(), LAPLACE, group_size=10).overfitted_knowledge == ()


def test_size_of_the_group_is_that_of_the_data():
    challenger = whole(town(n_people=60), SUPPRESSED, targets=2)
    assert challenger.group_size == challenger.chain.group_size == 60


def test_promise_is_that_of_adding_or_removing_the_target():
    people = town()
    everyone, group = whole(people, targets=5), game(people, targets=5)
    assert everyone.guarantee == replace(group.guarantee, curve=everyone.guarantee.curve)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"group_size": "everyone", "relation": "replace_one"},
            'nobody is left to replace a target; write relation = "add_remove"',
        ),
        ({"group_size": "everyone", "splits": 0}, "splits must be >= 1"),
        ({"group_size": "everybody"}, "everyone"),
    ],
)
def test_refuses_what_does_not_go_together(setting, message):
    with pytest.raises(BadInput, match=message) as refused:
        read_challenger_table(setting)
    assert "\n" not in str(refused.value)


def test_refuses_earlier_releases_of_the_same_people():
    with pytest.raises(BadInput, match="all releases count the same people; leave this attacker out"):
        knowledge.build("past", {}, whole(), 1)


def test_refuses_a_reference_of_targets_only():
    with pytest.raises(BadInput, match="holds nobody besides the 3 targets"):
        whole(targets=3, reference=3)


def test_references_are_drawn_from_the_table():
    people = whole(targets=3, reference=0.5, splits=4).people
    assert len(people.references) == 4
    assert len({reference.tobytes() for reference in people.references}) == 4
    for reference in people.references:
        assert reference.size == 27  # half of 60 people, with the three targets
        assert np.isin(reference, people.pool).all()


def test_rounds_take_turns_with_the_references():
    challenger = whole(targets=2, splits=3)
    knows = knowledge.build("auxiliary", {}, challenger, 1)
    assert isinstance(knows, KnowledgeBySplit)
    assert len(knows.parts) == 3
    attack = Attack(shadows=0, fit="never")
    split = Adversary(knows, study_attack(attack, knows, np.random.default_rng(1), "a", challenger.n_targets))
    trials = play(challenger, {"split": split}, seed=5, rounds=range(20, 30), block=2)["split"]
    np.testing.assert_array_equal(trials.splits, np.repeat(np.arange(20, 30) % 3, 2))
    for place, part in enumerate(knows.parts):
        alone = Adversary(part, attack.study(part, np.random.default_rng(1)))
        one = play(challenger, {"alone": alone}, seed=5, rounds=range(20, 30), block=2)["alone"]
        rows = trials.splits == place
        np.testing.assert_array_equal(trials.scores[rows], one.scores[rows])
    assert not np.array_equal(trials.scores, one.scores)  # the references do make a difference


def test_informed_and_zero_knowledge_do_not_depend_on_references():
    challenger = whole(splits=3)
    for name in ("informed", "zero"):
        assert not isinstance(knowledge.build(name, {}, challenger, 1), KnowledgeBySplit)


def test_fewer_rounds_than_references_are_scored():
    challenger = whole(splits=5)
    knows = knowledge.build("auxiliary", {}, challenger, 1)
    scorer = study_attack(
        Attack(shadows=0, fit="never"), knows, np.random.default_rng(1), "a", challenger.n_targets
    )
    trials = play(challenger, {"a": Adversary(knows, scorer)}, seed=5, rounds=range(2), block=0)["a"]
    assert len(trials) == 2


def test_shadow_groups_are_drawn_with_replacement():
    """Every count is binomial: its mean and variance, over cells, within five standard errors."""
    people = town(n_people=30)
    crowd = game(people, group_size=5, reference=10).reference
    sizes, rng = np.full(4_000, 100), np.random.default_rng(2)
    shares = crowd.visits.toarray().mean(axis=0)
    columns = np.flatnonzero(shares)[::3]
    for cells in (None, columns):
        counts = crowd.counts_with_repeats(sizes, cells, rng)
        p = shares if cells is None else shares[cells]
        error = np.sqrt(100 * p * (1 - p) / 4_000)
        assert (np.abs(counts.mean(axis=0) - 100 * p) <= 5 * error).all()
        assert np.allclose(counts.var(axis=0), 100 * p * (1 - p), rtol=0.2)


# The informed attacker


def brute_force(others, noise_scale, n_people, suppress):
    """Accuracy, AUC and TPR at 1 % FPR of the best attack, by listing all outputs of all cells."""

    def law(count):
        cuts = np.arange(1, n_people + 1)
        at_least = np.concatenate([[1.0], laplace_noise.sf(cuts - count, scale=noise_scale), [0.0]])
        chances = -np.diff(at_least)
        chances[0] += chances[1 : suppress + 1].sum()
        chances[1 : suppress + 1] = 0.0
        return chances

    worlds = []
    for more in (1, 0):
        laws = [law(count + more) for count in others]
        worlds.append(np.array([np.prod(each) for each in product(*laws)]))
    present, absent = worlds
    possible = present + absent > 0
    present, absent = present[possible], absent[possible]
    order = np.argsort(-present / (present + absent), kind="stable")
    tpr, fpr = (np.append(0.0, np.cumsum(world[order])) for world in (present, absent))
    auc = float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2))
    return (1 + np.abs(present - absent).sum() / 2) / 2, auc, float(np.interp(0.01, fpr, tpr))


@pytest.mark.parametrize("suppress", [0, 1, 2])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_informed_exposure_equals_brute_force(epsilon, suppress):
    visits = np.random.default_rng(7).random((9, 5)) < 0.35
    visits[np.arange(9), np.arange(9) % 5] = True
    mechanism = {"name": "laplace", "epsilon": epsilon, "round": True, "clamp": True, "suppress": suppress}
    found = expose(whole(traces(visits), mechanism), ("informed",)).against[0]
    for person, row in enumerate(visits):
        others = (visits.sum(axis=0) - row)[row]
        accuracy, auc, tpr = brute_force(others, 1 / epsilon, 9, suppress)
        assert found.accuracy[person] == pytest.approx(accuracy, abs=1e-3 + found.error)
        assert found.auc[person] == pytest.approx(auc, abs=1e-3 + found.error)
        assert found.tpr[person] == pytest.approx(tpr, abs=4e-3 + found.error)


def test_suppressed_raw_counts_reveal_exactly_those_in_full_cells():
    """Without noise a person is recognised if and only if some cell has as many others as are suppressed."""
    visits = np.random.default_rng(3).random((40, 30)) < 0.05
    visits[:, 0] |= ~visits.any(axis=1)
    found = expose(whole(traces(visits), {"name": "raw", "suppress": 3}), ("informed",)).against[0]
    others = visits.sum(axis=0) - visits
    sure = ((others >= 3) & visits).any(axis=1)
    assert 0 < sure.sum() < 40
    np.testing.assert_allclose(found.accuracy, np.where(sure, 1.0, 0.5), atol=1e-9)


def test_half_of_the_people_understates_what_suppression_leaves():
    """More people lift counts above the limit of suppression, so the whole table reveals more people."""
    visits = np.random.default_rng(4).random((400, 40)) < 0.02
    visits[np.arange(400), np.arange(400) % 40] = True
    mechanism = SUPPRESSED | {"suppress": 12, "epsilon": 4.0}
    half = expose(game(traces(visits), mechanism, group_size=200), ("informed",)).against[0]
    everyone = expose(whole(traces(visits), mechanism), ("informed",)).against[0]
    assert everyone.accuracy.mean() > half.accuracy.mean() + 0.05


def own_accuracy(trials):
    """Half of the sum of the shares of members and of non-members who are told rightly."""
    said = trials.scores >= trials.reading.threshold
    return (said[trials.members].mean() + (~said[~trials.members]).mean()) / 2


def simulated_differences(names, n_people, n):
    """Accuracy at the own threshold minus exposure, for some people."""
    challenger = whole(town(n_people=120, n_places=6, density=0.1), SUPPRESSED, splits=1)
    found = {one.adversary: one for one in expose(challenger, names).against}
    differences = {name: [] for name in found}
    for person in range(n_people):
        alone = about(challenger, person)
        knows = {name: knowledge.build(name, {}, alone, 1) for name in found}
        attack = Attack(shadows=0, fit="never")
        adversaries = {
            name: Adversary(known, attack.study(known, np.random.default_rng(1)))
            for name, known in knows.items()
        }
        for name, trials in play(alone, adversaries, seed=person, rounds=range(n), block=0).items():
            differences[name].append(own_accuracy(trials) - found[name].accuracy[person])
    return {name: np.array(each) for name, each in differences.items()}


def test_exposure_equals_simulation():
    n = 600
    differences = simulated_differences(("informed", "auxiliary"), 10, n)
    error = 0.5 / np.sqrt(n)
    assert np.abs(differences["informed"]).max() < 4 * error
    assert abs(differences["informed"].mean()) < 4 * error / np.sqrt(10)
    assert abs(differences["auxiliary"].mean()) < 0.05  # a target is in its own reference, or is added to it


@pytest.mark.nightly
def test_exposure_from_the_release_alone_equals_simulation():
    """In a simulation the rates are estimated from each release, with the target in it or not."""
    differences = simulated_differences(("zero",), 20, 600)
    assert abs(differences["zero"].mean()) < 0.05


def test_mean_and_range_over_references():
    challenger = whole(town(n_people=200, density=0.3), LAPLACE | {"epsilon": 2.0}, splits=4)
    one = expose(challenger, ("auxiliary",)).against[0]
    assert one.split_accuracy.shape == (4, 200)
    np.testing.assert_allclose(one.split_accuracy.mean(axis=0), one.accuracy)
    assert one.split_accuracy.std(axis=0).max() > 0
    first = expose(challenger.of_split(2), ("auxiliary",)).against[0]
    np.testing.assert_allclose(first.accuracy, one.split_accuracy[2])


def test_mean_and_range_over_simulated_releases():
    people = town(n_people=100, density=0.05)
    one = expose(whole(people, LAPLACE | {"epsilon": 2.0}), ("zero",)).against[0]
    assert one.split_accuracy.shape == (12, 100)
    np.testing.assert_allclose(one.split_accuracy.mean(axis=0), one.accuracy)
    assert one.split_accuracy.std(axis=0).max() > 0.01  # the noise changes what is estimated
    assert "12 random draws of its noise" in one.basis
    assert expose(whole(people, RAW), ("zero",)).against[0].split_accuracy is None  # all are the same


def test_limit_on_people_is_decided_only_if_all_simulated_releases_agree():
    """A number recognised that depends on the noise leaves a limit in its range undecided."""
    challenger = whole(town(n_people=100, density=0.05), LAPLACE | {"epsilon": 3.0})
    found = expose(challenger, ("zero",))
    at = round(float(np.median(found.against[0].accuracy)), 2)
    counts = np.count_nonzero(found.against[0].split_accuracy >= at, axis=1)
    assert counts.max() > counts.min() + 2
    summary = summarise([AuditExposure("town", "locations", found)])
    for share, status in (
        (counts.min() / 100 - 0.1, "over"),
        (counts.mean() / 100, "undecided"),
        (counts.max() / 100 + 0.1, "within"),
    ):
        risk = recognised_risk(summary, ["town"], Limits(recognised=share, recognised_at=at))
        assert risk.status == status


def test_strangers_do_not_profit_from_a_table_that_never_varies():
    """Raw counts never vary: a threshold fitted to one person would always be right, one for all is not."""
    people = town(n_people=150, n_places=6, density=0.1)
    informed, auxiliary, zero = expose(whole(people, RAW, splits=2)).against
    np.testing.assert_allclose(informed.auc, 1.0)
    for stranger in (auxiliary, zero):
        assert 0.55 < stranger.auc.mean() < 0.95
        assert stranger.accuracy.mean() < 0.95


# The positive control


@pytest.mark.parametrize(
    ("attack", "known"),
    [
        ("likelihood", "informed"),
        ("likelihood", "auxiliary"),
        ("likelihood", "zero"),
        ("one_threshold", "auxiliary"),
        ("two_threshold", "auxiliary"),
    ],
)
def test_outsized_trace_is_found(attack, known, tmp_path):
    table = {"group_size": "everyone", "targets": 4}
    challenger = build(data=CITY, challenger=table, mechanism=LAPLACE, folder=tmp_path, seed=1)
    control = challenger.control()
    assert (control.n_targets, control.n_splits) == (1, 1)
    assert challenger.group_size == 300
    assert 10 <= control.group_size == control.others.people.size + 1 < 300  # a crowd protects too
    assert played("locations", control, attack, known)["status"] == "passed"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("people", "sites"), [(299, 20), (2000, 5)])
def test_attacker_with_only_the_release_finds_it_in_large_counts_too(people, sites, seed, tmp_path):
    city = {**CITY, "users": people, "sites": sites, "epochs": 24}
    table = {"group_size": "everyone", "targets": 4}
    challenger = build(data=city, challenger=table, mechanism=LAPLACE, folder=tmp_path, seed=seed)
    control = challenger.control()
    assert challenger.whole_tables(1)[0].mean() > 10
    cells = control.traces.visits[control.people.targets].indices
    assert control.others.counts[cells].mean() < 1.5  # half a visitor on average over all quiet cells
    assert set(control.people.pool) < set(challenger.people.pool) | set(challenger.people.targets[1:])
    assert played("locations", control, "likelihood", "zero")["status"] == "passed"
    assert any("positive control counts" in note for note in challenger.notes)


def test_small_counts_are_those_of_everybody_in_the_control_too(tmp_path):
    table = {"group_size": "everyone", "targets": 4}
    city = {**CITY, "sites": 100, "epochs": 168}
    challenger = build(data=city, challenger=table, mechanism=LAPLACE, folder=tmp_path, seed=1)
    assert challenger.control().group_size == 300
    assert not any("positive control" in note for note in challenger.notes)


def test_people_outside_the_box_are_not_said_to_be_counted(tmp_path):
    rows = [
        f"{who},2024-01-0{day} 10:00,{0.5 if who < 8 else 5},0.5" for who in range(10) for day in (1, 2, 3)
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["user,time,lat,lon", *rows]))
    data = {"source": "visits.csv", "epoch": "1d", "grid": [1, 1], "window": ["2024-01-01", "2024-01-04"]}

    def note(**more):
        table = {"group_size": "everyone", "targets": 2}
        tables = {"data": data | more, "challenger": table, "mechanism": LAPLACE}
        notes = build(**tables, folder=tmp_path, seed=1).notes
        return next(text for text in notes if "Every simulated release" in text)

    assert "table of all 10 people, with or without each target" in note(box=[0, 0, 10, 1])
    assert "table of all 8 people who have visits on the map, with or without" in note(box=[0, 0, 1, 1])
    assert note(box=[0, 0, 1, 1]).endswith("Nobody else of the file is in it.")


@pytest.mark.nightly
def test_exposure_has_no_notes_about_simulated_releases_and_one_word_for_draws(tmp_path):
    city, table = {**CITY, "users": 300, "sites": 9, "epochs": 24}, {"group_size": "everyone", "targets": 4}
    challenger = build(data=city, challenger=table, mechanism=LAPLACE, folder=tmp_path, seed=1)
    assert any("simulated release" in note for note in challenger.notes)
    exposed = expose(challenger)
    said = [*exposed.notes, *(one.basis for one in exposed.against)]
    assert not [text for text in said if re.search("simulated|positive control|split", text)]
    assert any(text.endswith("random draws of these") for text in said)
    assert any(text.endswith("random draws of its noise") for text in said)
