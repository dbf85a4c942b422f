"""The page on noisy query services: its plan works, it names what a plan may say, its numbers are right."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries import DOMAIN, accounting, challenger, knowledge
from leakgauge.domains.queries.attacks import reconstruction, split_likelihood, split_midpoint, split_t_test
from leakgauge.domains.queries.oracle import AnswerCache, OracleRules
from leakgauge.domains.queries.plan_tables import (
    QueriesChallengerTable,
    QueriesFileTable,
    QueriesSyntheticTable,
    QueriesTargetsTable,
)
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.target_questions import split_questions
from leakgauge.mechanisms import laplace, mechanism_names
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.plan import read_plan
from leakgauge.theory.query_splitting import optimum_laplace

PAGE = (Path(__file__).parent.parent / "docs" / "queries.md").read_text()
ATTACKS = catalog.module_names("leakgauge.domains.queries.attacks")


@pytest.fixture
def game(tmp_path):
    rng = np.random.default_rng(1)
    rows = [f"{1000 + i},{age}" for i, age in enumerate(rng.integers(1, 90, 300))]
    (tmp_path / "patients.csv").write_text("\n".join(["number,age", *rows]) + "\n")
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (plan,) = (block for block in blocks if block.startswith("seed"))
    (tmp_path / "plan.toml").write_text(plan)
    read = read_plan(tmp_path / "plan.toml")
    return catalog.prepare_audit(read.audits[0], read)


def test_plan_on_page_reads_file_and_promises_budget(game):
    assert game.challenger.n_targets == 1
    assert game.challenger.guarantee.epsilon == pytest.approx(3.0)
    assert len(game.knowledges["knows-5"].ids) == 5


def test_attacks_on_page_run(game):
    adversaries = {
        label: Adversary(knowledge, game.attacks[label].study(knowledge, stream(1, Role.STUDY)))
        for label, knowledge in game.knowledges.items()
    }
    found = play(game.challenger, adversaries, 1, range(20), 0)
    assert len(found) == 4
    assert np.unique(found["refusal-known"].scores).size == 1  # refusals tell nothing
    assert np.unique(found["knows-5"].scores).size > 10


@pytest.mark.parametrize("attack", ATTACKS)
def test_attack_options_are_documented(attack):
    assert f"| `{attack}` |" in PAGE
    for option in fields(import_module(f"leakgauge.domains.queries.attacks.{attack}").Attack):
        assert re.search(rf"^\| `{option.name}` \| (all|.*`{attack}`)", PAGE, re.MULTILINE), option.name


def test_plan_keys_are_documented():
    for key in (
        field.name
        for table in (QueriesFileTable, QueriesSyntheticTable, QueriesChallengerTable)
        for field in fields(table)
    ):
        assert f"| `{key}` |" in PAGE, key
    for key in (field.name for table in (Query, QueriesTargetsTable) for field in fields(table)):
        assert re.search(rf"`[^`]*\b{key}\b[^`]*`", PAGE), key


def test_accountants_caches_noise_and_knowledge_are_documented():
    for name in (
        *accounting.accountant_names(),
        *(cache.value for cache in AnswerCache),
        *DOMAIN.knowledge_terms,
    ):
        assert f"| `{name}` |" in PAGE, name
    assert "[additive noise](mechanisms.md)" in PAGE
    for name in set(DOMAIN.mechanism_lines()) - set(mechanism_names(adds_noise)):
        assert f'| `"{name}"` |' in PAGE, name


def test_attack_success_on_page_matches_theory():
    from leakgauge.theory import query_splitting

    at = ((10, 1.0), (29, 0.33), (10, 0.3))
    rows = {
        "t-test, textbook, two sides": [query_splitting.success_laplace(m, epsilon) for m, epsilon in at],
        "t-test, paper, two sides": [
            query_splitting.success_laplace(m, epsilon, form="paper") for m, epsilon in at
        ],
        "t-test, textbook, one side": [
            query_splitting.success_laplace(m, epsilon, sides=1) for m, epsilon in at
        ],
        "midpoint": [query_splitting.midpoint_laplace(m, epsilon) for m, epsilon in at],
        "likelihood: no attack can do better": [
            query_splitting.optimum_laplace(m, epsilon)[0] for m, epsilon in at
        ],
        "the formula of theorem 5, as printed": [
            query_splitting.success_as_printed(m, epsilon / query_splitting.SQRT_2) for m, epsilon in at
        ],
    }
    for name, success in rows.items():
        cells = " | ".join(f"{float(value):.3f}" for value in success)
        assert f"| {name} | {cells} |" in PAGE, cells


@pytest.mark.parametrize(
    ("columns", "records", "at_least", "stated"),
    [
        (("age",), None, 10, 0.832),
        (("age", "region"), 500, 10, 0.558),
        (("age", "region", "income"), 50, 10, 0.791),
        (("age", "region", "income"), 100, 50, 0.687),
        (("age", "region", "income"), 500, 100, 0.806),
    ],
)
def test_success_by_what_is_known_and_by_the_smallest_count(columns, records, at_least, stated):
    owner = challenger.build(
        data={},
        challenger={"targets": 20, "at_least": at_least, "accountant": "none"},
        mechanism={"name": "laplace", "epsilon": 1.0},
        folder=Path(),
        seed=20240501,
    )
    given = {"columns": columns} | ({} if records is None else {"records": records})
    known = knowledge.build("attributes", given, owner, 20240501)
    scorer = split_likelihood.Attack().study(known, np.random.default_rng(0))
    members = np.random.default_rng(11).random((400, 20)) < 0.5
    seen = known.view(owner.release(members, np.random.default_rng(12)))
    right = ((scorer.score(seen, np.random.default_rng(0)) >= 0) == members).mean()
    assert abs(right - stated) < 4.5 * np.sqrt(0.25 / members.size)
    assert f"{stated:.1%}" in PAGE


@pytest.mark.parametrize(
    ("query", "stated"),
    [
        ({"kind": "histogram", "group_by": "region", "groups": ["north", "east", "south", "west"]}, 0.913),
        ({"kind": "average", "column": "income", "bound": 100.0}, 0.626),
    ],
)
def test_success_by_kind_of_question(query, stated):
    owner = challenger.build(
        data={},
        challenger={"targets": 10, "query": query, "accountant": "none"},
        mechanism={"name": "laplace", "epsilon": 1.0},
        folder=Path(),
        seed=20240501,
    )
    known = knowledge.build("known", {}, owner, 20240501)
    scorer = split_likelihood.Attack().study(known, np.random.default_rng(0))
    members = np.random.default_rng(11).random((200, 10)) < 0.5
    seen = known.view(owner.release(members, np.random.default_rng(12)))
    right = ((scorer.score(seen, np.random.default_rng(0)) >= 0) == members).mean()
    assert abs(right - stated) < 4.5 * np.sqrt(0.25 / members.size)
    assert f"{stated:.1%}" in PAGE


def rows(heading):
    """The rows of the table on the page whose heading begins so."""
    lines = PAGE.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(heading)) + 2
    found = []
    for line in lines[first:]:
        if not line.startswith("|"):
            return found
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def share(text):
    return float(re.search(r"[\d.]+(?=%)", text).group()) / 100


def success(owner, known, attack, rounds, seed):
    """How often an attack is right, and the standard error of a mean of so many coin tosses."""
    scorer = attack.study(known, np.random.default_rng(0))
    members = np.random.default_rng(seed).random((rounds, owner.n_targets)) < 0.5
    seen = known.view(owner.release(members, np.random.default_rng(seed + 1)))
    right = ((scorer.score(seen, np.random.default_rng(0)) >= 0) == members).mean()
    return right, np.sqrt(0.25 / members.size)


def test_success_by_the_size_of_a_value_in_a_sum():
    at = [optimum_laplace(10, epsilon)[0] for epsilon in (1.0, 0.5, 0.25)]
    text = "{:.3f} of the time\nfor a value at the bound, {:.3f} at half of it, {:.3f} at a quarter".format(
        *at
    )
    assert text in PAGE


REGIONS = ["north", "east", "south", "west"]
KINDS = {
    "a count": {},
    "a histogram over the four regions": {"kind": "histogram", "group_by": "region", "groups": REGIONS},
    "a sum of incomes, bound 100": {"kind": "sum", "column": "income", "bound": 100.0},
    "a sum of incomes for each region": {
        "kind": "sum",
        "column": "income",
        "bound": 100.0,
        "group_by": "region",
        "groups": REGIONS,
    },
    "an average of incomes, bound 100": {"kind": "average", "column": "income", "bound": 100.0},
}


@pytest.mark.nightly
def test_table_of_success_by_kind_of_question():
    table = rows("| query | `split_likelihood` |")
    assert [name for name, *_ in table] == list(KINDS)
    for name, *cells in table:
        owner = challenger.build(
            data={},
            challenger={"targets": 10, "query": KINDS[name], "accountant": "none"},
            mechanism={"name": "laplace", "epsilon": 1.0},
            folder=Path(),
            seed=20240501,
        )
        known = knowledge.build("known", {}, owner, 20240501)
        for attack, cell in zip((split_likelihood, split_midpoint, split_t_test), cells, strict=True):
            right, error = success(owner, known, attack.Attack(), 800, 31)
            assert abs(right - share(cell)) < 4.5 * np.sqrt(2) * error, (name, attack, right)


def attributes_success(columns, people, at_least, *, register=None):
    owner = challenger.build(
        data={},
        challenger={"targets": 20, "accountant": "none"}
        | ({} if at_least is None else {"at_least": at_least}),
        mechanism={"name": "laplace", "epsilon": 1.0},
        folder=Path(),
        seed=20240501,
    )
    given = {"columns": columns} | ({} if people is None else {"records": people})
    given |= {} if register is None else {"register": register}
    known = knowledge.build("attributes", given, owner, 20240501)
    asked = split_questions(known, 10, None)
    isolated = 1 - asked.studied.get("not_isolated", 0.0)
    most = max(len(split.queries) for split in asked.questions.splits)
    return *success(owner, known, split_likelihood.Attack(), 400, 41), isolated, most


@pytest.mark.nightly
def test_table_of_success_by_what_is_known():
    for name, *cells in rows("| columns | 50 people |"):
        columns = tuple(name.removesuffix(", without a register").split(", "))
        register = False if name.endswith("register") else None
        for people, cell in zip((50, 100, 500, 900, None), cells, strict=True):
            if cell == "refused":
                with pytest.raises(BadInput):
                    attributes_success(columns, people, 10)
            elif cell:
                right, error, isolated, _ = attributes_success(columns, people, 10, register=register)
                assert abs(right - share(cell)) < 4.5 * np.sqrt(2) * error, (name, people, right)
                assert register is False or f"({isolated:.0%})" in cell, (name, people, isolated)


@pytest.mark.nightly
def test_table_of_success_by_the_smallest_count():
    for name, *cells in rows("| `at_least` | 50 people |"):
        for people, cell in zip((50, 100, 500), cells, strict=True):
            least = None if name == "none" else int(name)
            if cell == "refused":
                with pytest.raises(BadInput):
                    attributes_success(("age", "region", "income"), people, least)
            else:
                right, error, _, most = attributes_success(("age", "region", "income"), people, least)
                assert abs(right - share(cell)) < 4.5 * np.sqrt(2) * error, (name, people, right)
                assert re.search(r": (\d+)", cell)[1] == str(most), (name, people, most)


def least_squares_theory(questions, epsilon, rng):
    """The best linear estimate of 64 fair bits from random halves: the share on the right side, if normal."""
    design = rng.integers(0, 2, (questions, 64)).astype(float)
    noise = 2 / epsilon**2
    weights = np.linalg.solve(design.T @ design + 4 * noise * np.eye(64), design.T)
    seen = weights @ design
    gains = np.diag(seen)
    spread = ((seen**2).sum(axis=1) - gains**2) / 4 + noise * (weights**2).sum(axis=1)
    return float(norm.cdf(gains / 2 / np.sqrt(spread)).mean())


@pytest.mark.parametrize("column", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 5))])
def test_theory_of_reconstruction_on_page(column):
    questions, rng = (32, 64, 128, 512, 2304)[column], np.random.default_rng(51)
    for heading, whole in (("| least squares | 32", True), ("| linear program; at most | 32", False)):
        for name, *cells in rows(heading):
            epsilon, cell = float(re.search(r"ε = ([\d.]+)", name).group(1)), cells[column]
            if cell == "not run":
                continue
            stated = cell.split("(")[1] if whole else cell.split(";")[1]
            if whole:
                designs = [least_squares_theory(questions, epsilon, rng) for _ in range(6)]
                found, slack = np.mean(designs), 4 * np.std(designs, ddof=1)  # the sets are random
            else:
                nodes, weights = np.polynomial.hermite_e.hermegauss(5)
                asked = np.rint(questions / 2 + np.sqrt(questions) / 2 * nodes).astype(int)
                best = [optimum_laplace(n, epsilon)[0] for n in asked.tolist()]
                found, slack = weights @ best / weights.sum(), 0.003
            if ">" in stated:
                assert found > 0.9985
            else:
                assert found == pytest.approx(share(stated), abs=6e-4 + slack), (name, heading)


def recovered(method, questions, epsilon, rounds, seed):
    """The share of 64 bits that reconstruction finds, and its standard error, in rounds of one design."""
    owner = challenger.build(
        data={"records": 200},
        challenger={"targets": 64, "accountant": "none"},
        mechanism={"name": "laplace", "epsilon": epsilon},
        folder=Path(),
        seed=20240501,
    )
    known = knowledge.build("known", {}, owner, 20240501)
    of_questions, of_members, of_noise = (np.random.default_rng([seed, use]) for use in range(3))
    scorer = reconstruction.Attack(queries=questions, method=method).study(known, of_questions)
    members = of_members.random((rounds, 64)) < 0.5
    seen = known.view(owner.release(members, of_noise))
    scores = scorer.score(seen, np.random.default_rng(0))
    by_round = ((scores >= scorer.reading.threshold) == members).mean(axis=1)
    return by_round.mean(), by_round.std(ddof=1) / np.sqrt(rounds)


MEASURED = [("least_squares", n) for n in range(5)] + [("linear_program", n) for n in range(5)]


@pytest.mark.nightly
@pytest.mark.parametrize(("method", "column"), MEASURED)
def test_recovered_shares_on_page(method, column):
    """Measured again: with as many rounds as the page for least squares, with few for the linear program."""
    questions = (32, 64, 128, 512, 2304)[column]
    least_squares = method == "least_squares"
    rounds = 300 if least_squares else (60, 60, 60, 12, 3)[column]
    heading = "| least squares | 32" if least_squares else "| linear program; at most | 32"
    designs = 0.01  # by which random sets of questions differ
    for name, *cells in rows(heading):
        if cells[column] == "not run":
            continue
        epsilon = float(re.search(r"ε = ([\d.]+)", name).group(1))
        right, error = recovered(method, questions, epsilon, rounds, 61)
        stated = 0.002 if least_squares else 0.007  # standard error of the page
        assert abs(right - share(cells[column])) < 4.5 * np.hypot(error, stated) + designs, (name, right)


def test_least_squares_without_weighing_the_noise():
    rng, shares = np.random.default_rng(71), []
    for _ in range(100):
        design, bits = rng.integers(0, 2, (64, 64)), rng.integers(0, 2, 64)
        answers = design @ bits + rng.laplace(size=64)
        shares.append(((np.linalg.lstsq(design, answers)[0] >= 0.5) == bits).mean())
    weighed = least_squares_theory(64, 1.0, rng)
    stated = re.search(r"targets at ε = 1 would recover (\d+)% instead of (\d+)%", " ".join(PAGE.split()))
    assert np.mean(shares) == pytest.approx(int(stated[1]) / 100, abs=0.012)
    assert weighed == pytest.approx(int(stated[2]) / 100, abs=0.015)


def test_answers_that_a_budget_pays_for():
    paid = [
        OracleRules(noise=laplace.Mechanism(epsilon=0.05), budget=3.0, delta=delta).most_answers
        for delta in (None, 1e-6)
    ]
    assert "pays for {} Laplace answers of ε = 0.05 without it, and for {} at δ = 10⁻⁶".format(*paid) in PAGE
    allowed = 1 / (1 + np.exp(-3)), optimum_laplace(10, 0.3)[0], optimum_laplace(1, 0.3)[0]
    said = "be right {:.1%} of the time. Ten answers with Laplace noise allow {:.1%}: the report".format(
        *allowed
    )
    assert said in PAGE
    assert f"One answer allows {allowed[2]:.1%}." in PAGE
