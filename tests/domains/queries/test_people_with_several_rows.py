"""The user-level unit: people with several rows, all of which are in the table or none."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from domains.queries.small_table import game
from leakgauge.core.errors import BadInput
from leakgauge.core.game import NoControl
from leakgauge.core.guarantee import Unit
from leakgauge.domains.queries.accounting import accountant_names, find_accountant
from leakgauge.domains.queries.attacks import (
    combined,
    refusal,
    repeat,
    split_likelihood,
    split_midpoint,
    split_t_test,
)
from leakgauge.domains.queries.challenger import build as build_challenger
from leakgauge.domains.queries.data import load_records
from leakgauge.domains.queries.knowledge import build
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.service.server import service_rounds
from leakgauge.domains.queries.target_questions import split_questions
from leakgauge.theory import query_splitting

PEOPLE = {"records": 1000, "person": "who", "rows_per_person": 4}
SUM = {"kind": "sum", "column": "income", "bound": 30.0}


def owned(**challenger):
    return game(data=PEOPLE, **challenger)


def true_sum(owner, rows, bound=30.0):
    return float(np.clip(owner.table.records.columns["income"][rows], -bound, bound).sum())


def rows_of(owner, name):
    return np.flatnonzero(owner.table.records.columns["who"] == name)


@pytest.mark.parametrize(
    "query", [Query(), Query(where="age > 40"), Query(kind=QueryKind.SUM, column="income", bound=30.0)]
)
def test_absent_person_takes_all_rows_along(query):
    owner = owned(targets=3, mechanism={"name": "laplace", "scale": 1e-6}, query={})
    members = np.array([[True, True, True], [False, True, True], [False, False, False]])
    answers = owner.release(members, np.random.default_rng(1)).oracle().ask(query)
    records = owner.table.records
    for i in range(3):
        there = np.ones(1000, dtype=bool)
        for target, present in zip(owner.table.targets, members[i]):
            there[rows_of(owner, records.ids[target])] = present
        if query.where is not None:
            there &= records.columns["age"] > 40
        rows = np.flatnonzero(there)
        expected = rows.size if query.kind is QueryKind.COUNT else true_sum(owner, rows)
        assert answers[i] == pytest.approx(expected, abs=1e-2)


@pytest.mark.parametrize("query", [{}, SUM])
def test_noise_protects_all_rows_of_a_person(query):
    """The largest change that one person makes, over all people, is at most the sensitivity of the noise."""
    owner = owned(query=query, mechanism={"name": "laplace", "epsilon": 0.5})
    records = owner.table.records
    changes = [
        rows.size if not query else abs(true_sum(owner, rows))
        for rows in (rows_of(owner, name) for name in set(records.ids))
    ]
    sensitivity = 4 * (30.0 if query else 1.0)
    assert max(changes) <= sensitivity
    assert max(changes) > 0.8 * sensitivity  # some person has four rows
    noise = owner.rules.noise_of(owner.query)
    assert (noise.sensitivity, noise.noise_scale) == pytest.approx((sensitivity, sensitivity / 0.5))
    answers = (
        owner.release(np.ones((4000, 1), dtype=bool), np.random.default_rng(1)).oracle().ask(owner.query)
    )
    true = len(records) if not query else true_sum(owner, np.arange(len(records)))
    assert stats.kstest(answers - true, stats.laplace(scale=sensitivity / 0.5).cdf).pvalue > 1e-3


def test_averages_and_histograms_have_noise_for_all_rows_of_a_person():
    rules = owned(mechanism={"name": "laplace", "epsilon": 0.5}).rules
    average = Query(kind=QueryKind.AVERAGE, column="income", bound=30.0)
    assert rules.noise_of(average).noise_scale == pytest.approx(2 * 4 * 30 / 0.5)
    assert rules.count_noise_of(average).noise_scale == pytest.approx(2 * 4 / 0.5)
    histogram = Query(kind=QueryKind.HISTOGRAM, group_by="region", groups=("north", "east"))
    assert rules.noise_of(histogram).noise_scale == pytest.approx(4 / 0.5)


@pytest.mark.parametrize("accountant", ["sequential", "per_predicate"])
def test_promise_is_for_the_person(accountant):
    owner = owned(budget=3.0, accountant=accountant)
    assert owner.guarantee.unit is Unit.USER
    assert owner.guarantee.epsilon == pytest.approx(3.0)
    assert owner.guarantee.sensitivity == 4
    assert game(budget=3.0).guarantee.unit is Unit.RECORD
    assert owned(budget=3.0, accountant="per_row", promise=3.0).guarantee.unit is Unit.USER


def brute_force_costs(owner, queries, worlds):
    """Answers about each person, by looking at every row: the most of any person who is there."""
    records, targets = owner.table.records, [owner.table.records.ids[t] for t in owner.table.targets]
    costs = []
    for world in worlds:
        absent = {name for name, present in zip(targets, world) if not present}
        counts = {}
        for query in queries:
            rows = records.rows(records.condition(query))
            for name in {records.ids[row] for row in rows} - absent:
                counts[name] = counts.get(name, 0) + 1
        costs.append(max(counts.values(), default=0))
    return costs


def test_accounts_are_of_people_and_not_of_rows():
    owner = owned(targets=2)
    records = owner.table.records
    worlds = np.array([[True, True], [False, True], [False, False]])
    one, other = (records.ids[row] for row in owner.table.targets)
    rows = rows_of(owner, one)
    ids = records.columns["id"]
    queries = [
        *(Query(where=f"id = {ids[row]}") for row in rows),  # one after the other
        Query(where="age < 40"),
        Query(where="age >= 40"),
        Query(ids=(one, other)),
        *(Query(where=f"income < {income}") for income in (10, 20, 30)),
        Query(where="income >= 30"),
    ]
    account = find_accountant("per_row")(worlds)
    sound = find_accountant("per_predicate")(worlds)
    for query in queries:
        resolved = owner.table.ask(query)
        for each in (account, sound):
            each.add(resolved, np.ones(3, dtype=bool))
    expected = brute_force_costs(owner, queries, worlds)
    assert account.spent.tolist() == expected
    assert (sound.spent >= expected).all()
    assert len(set(sound.spent.tolist())) == 1  # it does not depend on who is there


def test_disjoint_rows_of_a_person_are_not_disjoint_questions():
    """Rows below and above an income may belong to the same person; questions about two people may not."""
    owner = owned()
    account = find_accountant("per_predicate")(np.ones((1, 1), dtype=bool))
    for where in ("income < 30", "income >= 30"):
        account.add(owner.table.ask(Query(where=where)), np.ones(1, dtype=bool))
    assert account.spent.tolist() == [2]
    by_name = find_accountant("per_predicate")(np.ones((1, 1), dtype=bool))
    for name in (3, 4):
        by_name.add(owner.table.ask(Query(ids=(name,))), np.ones(1, dtype=bool))
    assert by_name.spent.tolist() == [1]


def test_smallest_count_is_of_people():
    owner = owned(at_least=3, mechanism={"name": "laplace", "scale": 1e-3})
    names = list(dict.fromkeys(name for name in owner.table.records.ids if len(rows_of(owner, name)) >= 3))
    asked = owner.release(np.ones((1, 1), dtype=bool), np.random.default_rng(1)).oracle()
    assert np.isnan(asked.ask(Query(ids=tuple(names[:2])))).all()  # six rows or more
    assert not np.isnan(asked.ask(Query(ids=tuple(names[:3])))).any()


def played(owner, known, attack, n=60, seed=3):
    members = np.random.default_rng(seed).random((n, owner.n_targets)) < 0.5
    scorer = attack.study(known, np.random.default_rng(0))
    scores = scorer.score(
        known.view(owner.release(members, np.random.default_rng(seed))), np.random.default_rng(0)
    )
    return float(((scores >= scorer.reading.threshold) == members).mean())


def test_attacker_knows_people_with_all_their_rows():
    owner = owned(query=SUM, targets=2)
    known = build("known", {"records": 50}, owner, 1)
    assert len(set(known.ids)) == 50
    assert not set(known.ids) & set(known.targets)
    for name, value in zip(known.ids, known.values):
        assert value == pytest.approx(true_sum(owner, rows_of(owner, name)))
    for name, value in zip(known.targets, known.shifts):
        assert value == pytest.approx(true_sum(owner, rows_of(owner, name)))


@pytest.mark.parametrize("query", [{}, SUM])
@pytest.mark.parametrize("at_least", [None, 5])
@pytest.mark.parametrize(
    "attack",
    [
        split_likelihood.Attack(queries=5),
        split_midpoint.Attack(queries=5),
        split_t_test.Attack(queries=5),
        repeat.Attack(queries=5, wording="equivalent"),
        combined.Attack(queries=5, test="midpoint"),
    ],
)
def test_attacks_identify_people_where_noise_is_small(attack, at_least, query):
    owner = owned(query=query, at_least=at_least, targets=2, mechanism={"name": "laplace", "epsilon": 100.0})
    assert played(owner, build("known", {}, owner, 1), attack) > 0.95


GROUPED = [
    {"kind": "average", "column": "income", "bound": 30.0},
    {"kind": "histogram", "group_by": "income", "edges": [0, 25, 50, 1000]},
    {**SUM, "group_by": "income", "edges": [0, 25, 50, 1000]},
    {
        "kind": "average",
        "column": "income",
        "bound": 30.0,
        "group_by": "region",
        "groups": ["north", "south"],
    },
]


@pytest.mark.parametrize("query", GROUPED)
@pytest.mark.parametrize("attack", [split_likelihood.Attack(queries=5), split_midpoint.Attack(queries=5)])
def test_averages_and_groups_of_people(attack, query):
    """Rows of a person may be in several groups; the attacker reads the one that the target changes most."""
    owner = owned(query=query, targets=2, mechanism={"name": "laplace", "epsilon": 1e4})
    known = build("known", {}, owner, 1)
    assert played(owner, known, attack) > 0.95
    split = split_questions(known, 5, None).questions.splits[0]
    quiet = owner.release(np.array([[False, True]]), np.random.default_rng(1)).oracle()
    np.testing.assert_allclose(split.ask(quiet), 0.0, atol=0.2)


@pytest.mark.parametrize("query", GROUPED[::3])
def test_likelihood_ratios_of_averages_of_people_have_mean_one(query):
    owner = owned(query=query, mechanism={"name": "laplace", "epsilon": 2.0}, accountant="none")
    known = build("known", {}, owner, 1)
    members = np.random.default_rng(3).random((3000, 1)) < 0.5
    scorer = split_likelihood.Attack(queries=3).study(known, np.random.default_rng(0))
    seen = known.view(owner.release(members, np.random.default_rng(4)))
    scores = scorer.score(seen, np.random.default_rng(0))
    for present, sign in ((False, 1.0), (True, -1.0)):
        ratios = np.exp(sign * scores[members[:, 0] == present, 0])
        assert abs(ratios.mean() - 1) < 4.5 * ratios.std() / np.sqrt(ratios.size)


def test_refusals_reveal_people_where_rows_are_charged():
    owner = owned(accountant="per_row", budget=1.5)
    assert played(owner, build("known", {}, owner, 1), refusal.Attack(queries=8)) == 1.0


@pytest.mark.parametrize("n_rows", [1, 4])
def test_success_depends_on_the_rows_of_the_target(n_rows):
    """A person with all rows that are allowed has the full epsilon; one with fewer rows is safer."""
    base = owned(accountant="none")
    name = next(name for name in base.table.records.ids if len(rows_of(base, name)) == n_rows)
    owner = owned(accountant="none", targets={"names": [name]}, mechanism={"name": "laplace", "epsilon": 1.0})
    n = 8_000
    found = played(owner, build("known", {}, owner, 1), split_likelihood.Attack(queries=10), n=n)
    assert abs(found - query_splitting.optimum_laplace(10, n_rows / 4)[0]) < 4.5 * np.sqrt(0.25 / n)


def test_control_finds_the_person():
    control = owned(targets=2, mechanism={"name": "laplace", "epsilon": 0.01}).control()
    assert played(control, build("known", {}, control, 1), split_likelihood.Attack(queries=2)) == 1.0


def test_our_service_leaves_out_people():
    owner = owned(mechanism={"name": "laplace", "scale": 1e-3})
    rounds, (target,) = service_rounds(owner), owner.table.targets
    name = owner.table.records.ids[target]
    with_it, without = (rounds.ask(rounds.open(absent), Query(), None).answer for absent in ((), (name,)))
    assert with_it - without == pytest.approx(len(rows_of(owner, name)), abs=0.1)


def test_first_rows_of_a_file_count(tmp_path):
    (tmp_path / "visits.csv").write_text("who,x\na,1\nb,2\na,3\na,4\nb,5\nc,6\n")
    table = {"source": "visits.csv", "person": "who", "rows_per_person": 2}
    records = load_records(table, tmp_path, 1)
    assert records.columns["x"].tolist() == [1, 2, 3, 5, 6]
    assert records.ids == ("a", "b", "a", "b", "c")
    assert load_records({**table, "rows_per_person": 3}, tmp_path, 1).digest != records.digest
    owner = build_challenger(
        data=table, challenger={}, mechanism={"name": "laplace", "epsilon": 1.0}, folder=tmp_path, seed=1
    )
    assert owner.notes[0] == "visits.csv: 5 records of 3 people, at most 2 of each are used"


@pytest.mark.parametrize(
    ("data", "query", "message"),
    [
        ({"person": "who"}, {}, "set both or none"),
        ({"rows_per_person": 2}, {}, "set both or none"),
        ({"person": "who", "rows_per_person": 0}, {}, "must be >= 1"),
        ({"person": "age", "rows_per_person": 2}, {}, "choose another name"),
    ],
)
def test_rejects_people_without_bounds_and_questions_that_attacks_cannot_use(data, query, message):
    with pytest.raises(BadInput, match=message):
        game(data=data, query=query)


def test_attributes_select_rows_and_not_people():
    with pytest.raises(BadInput, match="people may have several"):
        build("attributes", {}, owned(), 1)


def test_repeated_ids_name_the_way_out(tmp_path):
    (tmp_path / "visits.csv").write_text("id,x\n1,1\n1,2\n")
    with pytest.raises(BadInput, match=r"several rows by data\.person"):
        load_records({"source": "visits.csv"}, Path(tmp_path), 1)


def test_service_has_no_control_for_people():
    from domains.queries.remote.test_control_oracle import remote

    owner = remote(Path(), targets=1)
    people = owned()
    changed = type(owner)(
        **{**vars(owner), "table": people.table, "rules": people.rules, "query": people.query}
    )
    assert isinstance(changed.control(), NoControl)
    assert "several rows" in changed.control().reason


def test_every_accountant_counts_answers_about_people():
    owner = owned()
    asked = owner.release(np.array([[True], [False]]), np.random.default_rng(1)).oracle()
    asked.ask(Query(ids=(int(owner.table.records.ids[owner.table.targets[0]]),)))
    np.testing.assert_allclose(asked.obtained.ravel(), 0.3)
    found = {name: asked.believed[name].tolist() for name in accountant_names()}
    assert found == {
        "none": [0, 0],
        "per_predicate": pytest.approx([0.3, 0.3]),
        "per_row": pytest.approx([0.3, 0.0]),
        "sequential": pytest.approx([0.3, 0.3]),
    }
