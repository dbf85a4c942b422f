"""Splitting by attributes: predicates that select the target and known people, and nobody else."""

import re

import duckdb
import numpy as np
import pytest
from scipy import stats

from domains.queries.small_table import game
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries import challenger
from leakgauge.domains.queries.attacks import (
    combined,
    refusal,
    repeat,
    split_likelihood,
    split_midpoint,
    split_t_test,
)
from leakgauge.domains.queries.attribute_sets import AttributeSets
from leakgauge.domains.queries.knowledge import build
from leakgauge.domains.queries.target_questions import (
    SelectBy,
    single_questions,
    split_questions,
    threshold_questions,
)
from leakgauge.theory import query_splitting

QUIET = {"name": "laplace", "scale": 0.01}
COLUMNS = ["age", "region", "income"]


def knows(owner, **parameters):
    return build("attributes", {"columns": COLUMNS, **parameters}, owner, 1)


def selected_by_duckdb(owner, where):
    """The rows of a predicate, by SQL as it stands, without our parser."""
    columns = {name: np.ma.getdata(column) for name, column in owner.table.records.columns.items()}
    absent = {name: np.ma.getmaskarray(column) for name, column in owner.table.records.columns.items()}
    with duckdb.connect() as database:
        given = {f"c{i}": column for i, column in enumerate(columns.values())}
        given |= {f"m{i}": mask for i, mask in enumerate(absent.values())}
        database.register("given", given)
        listed = ", ".join(
            f'CASE WHEN m{i} THEN NULL ELSE c{i} END AS "{name}"' for i, name in enumerate(columns)
        )
        database.execute(f"CREATE TABLE records AS SELECT row_number() OVER () - 1 AS n, {listed} FROM given")
        return {row for (row,) in database.execute(f"SELECT n FROM records WHERE {where}").fetchall()}


def others_of(owner, query):
    rows = selected_by_duckdb(owner, query.where)
    return rows - set(owner.table.targets.tolist()), rows & set(owner.table.targets.tolist())


def accuracy(attack, owner, known, n_rounds=60, seed=3):
    members = np.random.default_rng(seed).random((n_rounds, owner.n_targets)) < 0.5
    scorer = attack.study(known, np.random.default_rng(0))
    seen = known.view(owner.release(members, np.random.default_rng(seed)))
    scores = scorer.score(seen, np.random.default_rng(0))
    assert scores.shape == members.shape
    return float(((scores >= scorer.reading.threshold) == members).mean())


@pytest.mark.parametrize("parameters", [{}, {"records": 300}, {"where": "region = 'north'"}])
@pytest.mark.parametrize("at_least", [None, 10])
@pytest.mark.parametrize("query", [{}, {"where": "age >= 30"}])
def test_questions_select_one_target_and_disjoint_known_people(parameters, at_least, query):
    owner = game(targets=2, at_least=at_least, query=query)
    known = knows(owner, **parameters)
    asked = split_questions(known, 6, None)
    for target, split in enumerate(asked.questions.splits):
        sets = []
        assert len(split.queries) == 6
        for question, value in zip(split.queries, split.known):
            assert '"id"' not in question.where
            others, targets = others_of(owner, question)
            assert targets == {int(owner.table.targets[target])}
            assert len(others) == value >= (at_least or 1)
            sets.append(others)
        assert sum(map(len, sets)) == len(set.union(*sets))
        known_rows = set(owner.table.ask(known.query).others.tolist())
        assert set.union(*sets) <= known_rows


def test_only_known_people_are_in_the_sets():
    owner = game()
    known = knows(owner, records=40)
    incomes = set(known.people.columns["income"].tolist())
    (split,) = split_questions(known, 8, None).questions.splits
    for question in split.queries:
        rows, _ = others_of(owner, question)
        assert {float(owner.table.records.columns["income"][row]) for row in rows} <= incomes


def test_known_part_of_sums_is_subtracted():
    owner = game(query={"kind": "sum", "column": "income", "bound": 40.0}, at_least=10)
    (split,) = split_questions(knows(owner), 5, None).questions.splits
    incomes = owner.table.records.columns["income"]
    for question, value in zip(split.queries, split.known):
        rows, _ = others_of(owner, question)
        assert value == pytest.approx(sum(min(incomes[row], 40.0) for row in rows))


def test_missing_values_and_special_texts_are_selected(tmp_path):
    rng = np.random.default_rng(4)
    texts = ["it's", "a;--b", "", "NULL", "x' OR '1'='1"]
    lines = [
        ",".join(
            (
                str(i),
                "" if rng.random() < 0.2 else str(rng.integers(18, 30)),
                f'"{texts[rng.integers(5)]}"' if rng.random() < 0.9 else "",
                f"2020-01-{rng.integers(1, 28):02d}",
                str(bool(rng.random() < 0.5)).lower(),
                repr(float(rng.normal())),
            )
        )
        for i in range(200)
    ]
    (tmp_path / "people.csv").write_text("id,age,town,since,smoker,score\n" + "\n".join(lines) + "\n")
    owner = game(data={"source": "people.csv"}, folder=tmp_path, targets=3, mechanism=QUIET, at_least=5)
    for columns in (["age", "town", "since", "smoker"], ["score"], ["age", "score", "since"]):
        known = build("attributes", {"columns": columns}, owner, 1)
        members = np.array([[True, False, True], [False, True, True]])
        samples = split_questions(known, 4, None).questions.ask(
            owner.release(members, np.random.default_rng(1)).oracle()
        )
        isolated = [cell.isolated for cell in AttributeSets(known).target_cells()]
        assert any(isolated)
        expected = np.broadcast_to(members[:, :, None], samples.shape)[:, isolated]
        np.testing.assert_allclose(samples[:, isolated], expected, atol=0.2)


def test_targets_that_no_predicate_isolates_are_named():
    owner = game(targets=6, mechanism=QUIET)
    ages, regions = (owner.table.records.columns[name] for name in ("age", "region"))
    known = build("attributes", {"columns": ["age", "region"], "records": 700}, owner, 1)
    known_rows = {(age, region) for age, region in zip(*(known.people.columns[n] for n in ("age", "region")))}
    assert known_rows
    asked = split_questions(known, 2, None)
    rows = owner.table.targets
    others = np.setdiff1d(np.arange(1000), rows)
    strangers = [(ages[r], regions[r]) for r in others]
    for person in zip(known.people.columns["age"], known.people.columns["region"]):
        strangers.remove(person)
    for i, row in enumerate(rows):
        n_same = strangers.count((ages[row], regions[row]))
        assert (i in asked.obstacles) == (n_same > 0)
        if n_same:
            assert f"target {i + 1}: {n_same} pe" in asked.event
    assert 0 < len(asked.obstacles) < 6
    assert asked.studied["not_isolated"] == len(asked.obstacles) / 6
    scorer = split_likelihood.Attack(queries=2).study(known, np.random.default_rng(0))
    members = np.ones((5, 6), dtype=bool)
    scores = scorer.score(known.view(owner.release(members, np.random.default_rng(1))), None)
    assert ((scores == 0).all(axis=0) == [i in asked.obstacles for i in range(6)]).all()


def test_two_targets_with_the_same_values_are_not_isolated(tmp_path):
    (tmp_path / "p.csv").write_text("id,age\n0,30\n1,30\n2,40\n3,50\n4,60\n")
    owner = game(data={"source": "p.csv"}, folder=tmp_path, targets={"names": [0, 1, 2]})
    asked = split_questions(build("attributes", {}, owner, 1), 1, None)
    assert sorted(asked.obstacles) == [0, 1]


def test_refuses_where_nothing_can_be_asked():
    owner = game(targets=2)
    with pytest.raises(BadInput, match=r"any target.* target 1: \d+ people .* add columns"):
        split_questions(build("attributes", {"columns": ["region"], "records": 900}, owner, 1), 2, None)
    with pytest.raises(BadInput, match=r"disjoint sets of 10 known people, at least 1; .* separate 0"):
        split_questions(knows(game(at_least=10), records=9), 1, None)
    with pytest.raises(BadInput, match="known people, at least 2"):
        split_t_test.Attack().study(knows(game(at_least=10), records=15), None)


def test_as_many_questions_as_the_known_people_allow():
    for at_least, n in ((1, 10), (10, 5), (20, 2), (50, 1)):
        known = knows(game(at_least=at_least), records=55)
        n_found = len(split_questions(known, 10, None).questions.splits[0].queries)
        assert n - 1 <= n_found <= n  # sets of ranges may be larger than required


def test_nine_known_people_and_a_minimum_count_of_ten():
    """One question about the target and nine others is right every time, whatever the noise."""
    for mechanism in (QUIET, {"name": "laplace", "epsilon": 0.01}):
        owner = game(at_least=10, mechanism=mechanism)
        known = knows(owner, records=9)
        (split,) = threshold_questions(known, None).questions.splits
        assert len(split.queries) == 1
        rows, targets = others_of(owner, split.queries[0])
        assert (len(rows), len(targets)) == (9, 1)
        for attack in (refusal.Attack(), combined.Attack()):
            assert accuracy(attack, owner, known) == 1.0


def test_one_question_is_right_where_noise_is_small():
    owner = game(at_least=10, mechanism=QUIET)
    assert accuracy(split_likelihood.Attack(queries=1), owner, knows(owner, records=10)) == 1.0
    noisy = game(at_least=10, suppress_by="answer", mechanism=QUIET)
    assert accuracy(split_likelihood.Attack(queries=1), noisy, knows(noisy, records=11)) == 1.0


@pytest.mark.parametrize("knowledge", ["known", "attributes"])
@pytest.mark.parametrize("at_least", [None, 10])
@pytest.mark.parametrize(
    "attack",
    [
        split_likelihood.Attack(queries=8),
        split_midpoint.Attack(queries=8),
        split_t_test.Attack(queries=8),
        combined.Attack(queries=8, test="likelihood"),
        repeat.Attack(queries=8),
        repeat.Attack(queries=8, wording="reworded"),
        repeat.Attack(queries=8, wording="equivalent"),
        refusal.Attack(queries=8),
    ],
    ids=lambda attack: f"{type(attack).__module__.rpartition('.')[2]}-{getattr(attack, 'wording', '')}",
)
def test_all_attacks_identify_targets_where_nothing_protects_them(knowledge, at_least, attack):
    accountant = {"accountant": "per_row", "budget": 3.0} if isinstance(attack, refusal.Attack) else {}
    epsilon = 0.5 if accountant else 20.0
    owner = game(
        targets=2, at_least=at_least, mechanism={"name": "laplace", "epsilon": epsilon}, **accountant
    )
    known = build(knowledge, {}, owner, 1)
    assert accuracy(attack, owner, known) > 0.95


@pytest.mark.parametrize(
    ("attack", "theory"),
    [
        (split_likelihood.Attack(queries=10), query_splitting.optimum_laplace(10, 1.0)[0]),
        (split_midpoint.Attack(queries=10), query_splitting.midpoint_laplace(10, 1.0)),
        (split_t_test.Attack(queries=10), query_splitting.success_laplace(10, [1.0])[0]),
        (repeat.Attack(queries=10, wording="equivalent"), query_splitting.midpoint_laplace(10, 1.0)),
    ],
    ids=["likelihood", "midpoint", "t_test", "repeat"],
)
@pytest.mark.parametrize("suppress_by", ["records", "answer"])
def test_theorem_5_success_is_that_of_ids(attack, theory, suppress_by):
    owner = game(
        at_least=10, suppress_by=suppress_by, mechanism={"name": "laplace", "epsilon": 1.0}, accountant="none"
    )
    n = 8_000
    found = accuracy(attack, owner, knows(owner), n_rounds=n)
    assert abs(found - float(theory)) < 4.5 * np.sqrt(0.25 / n) + 4e-4


def test_theorem_1_answers_are_independent():
    owner = game(at_least=10, mechanism={"name": "laplace", "epsilon": 0.4})
    n, known = 4_000, knows(owner)
    for present in (False, True):
        samples = split_questions(known, 12, None).questions.ask(
            owner.release(np.full((n, 1), present), np.random.default_rng(1)).oracle()
        )
        noise = samples[:, 0] - present
        for column in noise.T:
            assert stats.kstest(column, stats.laplace(scale=2.5).cdf).pvalue > 1e-4
        assert np.abs(np.corrcoef(noise.T)[~np.eye(12, dtype=bool)]).max() < 4.5 / np.sqrt(n)


def test_theorems_3_and_4_budget_from_both_sides():
    owner = game(at_least=10, accountant="none")
    known = knows(owner)
    seen = known.view(owner.release(np.array([[True], [False]]), np.random.default_rng(1)))
    split_questions(known, 12, None, own_people=True).questions.ask(seen.oracle())
    spent = known.spent(seen)
    np.testing.assert_allclose(spent["obtained"].ravel(), [3.6, 3.6])
    np.testing.assert_allclose(spent["per_row"].ravel(), [3.6, 0.3])
    np.testing.assert_allclose(spent["per_predicate"].ravel(), [3.6, 3.6])
    np.testing.assert_allclose(spent["sequential"].ravel(), [3.6, 3.6])


def test_attacker_without_register_names_no_ranges_and_may_be_wrong():
    owner = game(mechanism=QUIET)
    known = knows(owner, records=30, register=False)
    assert known.strangers is None
    (split,) = split_questions(known, 5, None).questions.splits
    assert not any("BETWEEN" in query.where for query in split.queries)
    assert all(len(re.findall('"age" = ', query.where)) == 2 for query in split.queries)
    by_age = build("attributes", {"columns": ["age"], "records": 30, "register": False}, owner, 1)
    assert accuracy(split_likelihood.Attack(queries=5), owner, by_age) < 0.8
    assert accuracy(split_likelihood.Attack(queries=5), owner, known) == 1.0


def test_attacker_knows_no_ids_and_only_the_stated_columns():
    known = build("attributes", {"columns": ["age", "region"], "records": 20}, game(), 1)
    assert {"ids", "targets", "id_column"} & set(dir(known)) == set()
    for table in (known.people, known.target_attributes, known.strangers):
        assert list(table.columns) == ["age", "region"]
    assert len(known.people) == 20
    assert "id" not in build("attributes", {}, game(), 1).people.columns


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"columns": ["id"]}, "is the id of a record; use knowledge 'known'"),
        ({"columns": ["ages"]}, "did you mean 'age'"),
        ({"columns": []}, "at least one is needed"),
        ({"columns": ["age", "age"]}, "named twice"),
        ({"where": "nobody = 3"}, "where: "),
        (
            {"where": "age > 89", "records": 500},
            r"selects \d+ records besides the targets among those of where",
        ),
    ],
)
def test_rejects_unavailable_attributes(parameters, message):
    with pytest.raises(BadInput, match=message):
        build("attributes", parameters, game(), 1)


def test_ways_of_selection_that_the_knowledge_does_not_allow():
    owner = game()
    for by in (SelectBy.IDS, SelectBy.PREDICATE):
        with pytest.raises(BadInput, match="selects records by attributes; leave by out"):
            split_questions(knows(owner), 2, by)
    with pytest.raises(BadInput, match="selects records by ids"):
        split_questions(build("known", {}, owner, 1), 2, SelectBy.ATTRIBUTES)


def test_target_alone_by_its_attributes():
    owner = game(targets=3)
    for target, split in enumerate(single_questions(knows(owner)).questions.splits):
        assert others_of(owner, split.queries[0]) == (set(), {int(owner.table.targets[target])})


def test_control_keeps_the_minimum_count():
    owner = game(at_least=10)
    control = owner.control()
    assert isinstance(control, challenger.Challenger)
    assert control.rules.at_least == 10
    known = build("attributes", {"records": 50}, control, 1)
    assert accuracy(split_likelihood.Attack(queries=3), control, known) == 1.0
