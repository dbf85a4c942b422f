"""Averages, histograms and groups: answers, sensitivities, costs, noise and attacks, by brute force."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from domains.queries.small_table import game, oracle, table
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.domains.queries.attacks import repeat, split_likelihood, split_midpoint, split_t_test
from leakgauge.domains.queries.average_likelihood import CDF_ERROR, AverageNoise
from leakgauge.domains.queries.conformance import compare_transcripts
from leakgauge.domains.queries.knowledge import build
from leakgauge.domains.queries.oracle import AnswerCache, OracleRules, cache_key
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.referee.conformance import decide_conformance

BINS = Query(kind=QueryKind.HISTOGRAM, group_by="age", edges=(18, 30, 50, 91))
REGIONS = Query(kind=QueryKind.HISTOGRAM, group_by="region", groups=("north", "east", "west"))
SUMS = Query(kind=QueryKind.SUM, column="income", bound=30.0, group_by="region", groups=("north", "south"))
AVERAGE = Query(kind=QueryKind.AVERAGE, column="income", bound=30.0)
AVERAGES = Query(kind=QueryKind.AVERAGE, column="income", bound=30.0, group_by="smoker", groups=(True, False))
QUERIES = [BINS, REGIONS, SUMS, AVERAGE, AVERAGES]
NAMES = ["bins", "regions", "sums", "average", "averages"]


def true_answer(columns, query, present):
    """The answer of a table without noise, one record at a time."""

    def numbers(rows):
        values = [min(max(columns["income"][row], -30.0), 30.0) for row in rows]
        match query.kind:
            case QueryKind.HISTOGRAM:
                return float(len(rows))
            case QueryKind.SUM:
                return sum(values)
            case _:
                return sum(values) / max(len(rows), 1)

    rows = [row for row in range(len(columns["id"])) if present[row]]
    if query.group_by is None:
        return np.array(numbers(rows))
    column = columns[query.group_by]
    if query.edges is not None:
        tests = [lambda v, a=a, b=b: a <= v < b for a, b in pairwise(query.edges)]
    else:
        tests = [lambda v, g=g: v == g for g in query.groups]
    return np.array([numbers([row for row in rows if test(column[row])]) for test in tests])


@pytest.mark.parametrize("query", QUERIES, ids=NAMES)
def test_answers_are_those_of_the_table(query):
    owner = game(targets=3, query={}, mechanism={"name": "laplace", "scale": 1e-7})
    members = np.array([[True, False, True], [False, False, False]])
    asked = owner.release(members, np.random.default_rng(1)).oracle()
    answers = asked.ask(query)
    for i in range(2):
        present = np.ones(1000, dtype=bool)
        present[owner.table.targets] = members[i]
        expected = true_answer(owner.table.records.columns, query, present)
        np.testing.assert_allclose(answers[i], expected, atol=1e-3)


@pytest.mark.parametrize("query", [BINS, REGIONS, SUMS], ids=NAMES[:3])
def test_one_record_changes_all_groups_together_by_the_sensitivity_at_most(query):
    """The L1 and L2 distance of neighbouring tables, over all records of a table."""
    columns = game().table.records.columns
    whole = true_answer(columns, query, np.ones(1000, dtype=bool))
    largest = 0.0
    for row in range(0, 1000, 7):
        present = np.ones(1000, dtype=bool)
        present[row] = False
        change = whole - true_answer(columns, query, present)
        assert np.count_nonzero(change) <= 1
        largest = max(largest, np.abs(change).sum())
    assert largest == pytest.approx(query.sensitivity)


@pytest.mark.parametrize("query", QUERIES, ids=NAMES)
def test_every_kind_costs_one_answer(query):
    rounds = np.array([[True], [False]])
    asked = (
        game(mechanism={"name": "laplace", "epsilon": 0.3}).release(rounds, np.random.default_rng(1)).oracle()
    )
    first = asked.ask(query)
    np.testing.assert_array_equal(asked.ask(query), first)  # from the cache
    for name in ("sequential", "per_predicate", "per_row"):
        np.testing.assert_allclose(asked.believed[name], 0.3)
    in_group = query.n_groups is None or asked._table.ask(query).targets[0]
    np.testing.assert_allclose(asked.obtained.ravel(), 0.3 if in_group else 0.0)


def test_records_outside_of_all_groups_are_not_charged():
    asked = oracle([[True]], targets=(4,), accountant="per_row")  # record 4 is in the east
    asked.ask(Query(kind=QueryKind.HISTOGRAM, group_by="region", groups=("north",)))
    assert asked.obtained.tolist() == [[0.0]]
    with pytest.raises(BadInput, match="is no value of 'region'"):
        asked.ask(Query(kind=QueryKind.HISTOGRAM, group_by="region", groups=(3,)))


@pytest.mark.parametrize("cache", [AnswerCache.TEXT, AnswerCache.CANONICAL])
def test_different_groups_are_different_questions(cache):
    people = table()
    keys = {cache_key(cache, people.ask(query)) for query in (BINS, REGIONS, SUMS, AVERAGE, Query())}
    other = Query(kind=QueryKind.HISTOGRAM, group_by="age", edges=(18, 30, 51, 91))
    assert len(keys | {cache_key(cache, people.ask(other))}) == 6


def test_small_groups_are_withheld_one_by_one():
    asked = oracle([[True], [False]], targets=(0,), at_least=2, scale=1e-3)  # north: 0 and 5, east: 4
    answers = asked.ask(Query(kind=QueryKind.HISTOGRAM, group_by="region", groups=("north", "east", "south")))
    np.testing.assert_allclose(answers, [[2, np.nan, 2], [np.nan, np.nan, 2]], atol=0.05)


def hockey_stick(noise, n_parts, epsilon):
    """delta(epsilon) of some values moved by one, by a grid over all outputs; shares no code with theory."""
    reach = 1 + 22 * noise.std() if n_parts == 1 else 1 + 14 * noise.std()
    points = np.linspace(-reach, reach + 1, 400_001 if n_parts == 1 else 2_401)
    step = points[1] - points[0]
    absent, present = noise.pdf(points) * step, noise.pdf(points - 1) * step
    if n_parts == 2:
        absent, present = np.outer(absent, absent), np.outer(present, present)
    return float(np.maximum(present - np.exp(epsilon) * absent, 0).sum())


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_an_average_reveals_no_more_than_one_answer(family, epsilon):
    """Sum and count get half of the budget each: for every smaller epsilon, delta is not larger."""
    noise = (
        laplace.Mechanism(epsilon=epsilon)
        if family == "laplace"
        else gaussian.Mechanism(sigma=1 / epsilon, delta=1e-5)
    )
    part = OracleRules(noise=noise).count_noise_of(AVERAGE)
    law = stats.laplace if family == "laplace" else stats.norm
    for share in (0.0, 0.25, 0.5, 0.75, 0.95):
        one = hockey_stick(law(scale=noise.noise_scale), 1, share * epsilon)
        two = hockey_stick(law(scale=part.noise_scale), 2, share * epsilon)
        assert two <= one + 2e-4, share
    if family == "gaussian":
        assert two == pytest.approx(one, abs=2e-4)  # exactly the same
    assert OracleRules(noise=noise).noise_of(AVERAGE).noise_scale == pytest.approx(30 * part.noise_scale)


@pytest.mark.parametrize("noise", [laplace.Mechanism(epsilon=0.5), gaussian.Mechanism(sigma=2.0, delta=1e-5)])
@pytest.mark.parametrize(("total", "count"), [(40.0, 10.0), (-25.0, 2.0), (0.0, 0.0)])
def test_density_of_noisy_averages(noise, total, count):
    rules = OracleRules(noise=noise)
    law = AverageNoise(rules.noise_of(AVERAGE), rules.count_noise_of(AVERAGE))
    rng = np.random.default_rng(5)
    n = 200_000
    drawn = law.sum_noise.sample(np.full(n, total), rng) / np.maximum(
        law.count_noise.sample(np.full(n, count), rng), 1.0
    )
    edges = np.quantile(drawn, np.linspace(0.02, 0.98, 13))
    for low, high in pairwise(edges):
        points = np.linspace(low, high, 60)
        expected = integrate.simpson(np.exp(law.log_density(points, total, count)), x=points)
        share = ((drawn >= low) & (drawn < high)).mean()
        assert abs(share - expected) < 5 * np.sqrt(expected / n) + 5e-4


def played(owner, known, attack, n=400, seed=3):
    members = np.random.default_rng(seed).random((n, owner.n_targets)) < 0.5
    scorer = attack.study(known, np.random.default_rng(0))
    seen = known.view(owner.release(members, np.random.default_rng(seed)))
    return members, scorer.score(seen, np.random.default_rng(0))


def as_plan(query):
    fields = {
        "kind": query.kind.value,
        "column": query.column,
        "bound": query.bound,
        "group_by": query.group_by,
    }
    lists = {"groups": query.groups, "edges": query.edges}
    return {key: value for key, value in {**fields, **lists}.items() if value is not None}


@pytest.mark.parametrize("query", QUERIES, ids=NAMES)
@pytest.mark.parametrize("knowledge", ["known", "attributes"])
@pytest.mark.parametrize(
    "attack",
    [split_likelihood.Attack(), split_midpoint.Attack(), split_t_test.Attack(sides=1), repeat.Attack()],
)
def test_attacks_identify_targets_where_noise_is_small(query, knowledge, attack):
    owner = game(
        targets=2, query=as_plan(query), mechanism={"name": "laplace", "scale": 1e-3 * query.sensitivity}
    )
    members, scores = played(owner, build(knowledge, {}, owner, 1), attack, n=60)
    assert ((scores >= 0) == members).mean() > 0.9


@pytest.mark.parametrize("query", [AVERAGE, AVERAGES], ids=NAMES[3:])
def test_likelihood_ratios_of_averages_have_mean_one(query):
    """E exp(score) is one without the target, and E exp(-score) with it, as of no other score."""
    owner = game(query=as_plan(query), mechanism={"name": "laplace", "epsilon": 0.8}, accountant="none")
    known = build("known", {}, owner, 1)
    members, scores = played(owner, known, split_likelihood.Attack(queries=3), n=4_000)
    for present, sign in ((False, 1.0), (True, -1.0)):
        ratios = np.exp(sign * scores[members[:, 0] == present, 0])
        assert abs(ratios.mean() - 1) < 4.5 * ratios.std() / np.sqrt(ratios.size)
    assert scores.std() > 0.05


def test_control_of_averages_and_groups_finds_the_target():
    for query in QUERIES:
        control = game(query=as_plan(query), mechanism={"name": "laplace", "epsilon": 0.01}).control()
        known = build("known", {}, control, 1)
        members, scores = played(control, known, split_likelihood.Attack(queries=2), n=60)
        assert ((scores >= 0) == members).all(), query


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "average", "column": "income"}, "an average needs a bound"),
        ({"kind": "average", "bound": 3.0}, "an average needs a column"),
        ({"kind": "histogram"}, "add group_by"),
        ({"kind": "count", "group_by": "age", "edges": [1, 2]}, "is a histogram"),
        ({"kind": "histogram", "group_by": "region"}, "groups that come from the data"),
        ({"kind": "histogram", "group_by": "region", "groups": []}, "at least one value"),
        ({"kind": "histogram", "group_by": "age", "edges": [3]}, "increasing"),
        ({"kind": "histogram", "group_by": "age", "edges": [3, 3]}, "increasing"),
        ({"kind": "histogram", "group_by": "ages", "edges": [3, 4]}, "did you mean 'age'"),
        ({"kind": "histogram", "group_by": "region", "edges": [3, 4]}, "only numbers"),
        ({"kind": "count", "groups": ["a"]}, "add group_by"),
    ],
)
def test_rejects_impossible_questions(fields, message):
    with pytest.raises(BadInput, match=message):
        game(query=fields)


def test_averages_take_noise_of_which_half_is_known():
    with pytest.raises(BadInput, match="an average takes laplace or gaussian noise"):
        game(query=as_plan(AVERAGE), mechanism={"name": "geometric", "epsilon": 1.0})
    with pytest.raises(BadInput, match="an average takes laplace or gaussian noise"):
        OracleRules(noise=geometric.Mechanism(epsilon=1.0)).noise_of(AVERAGE)


# -- the noise of averages, compared with the stated one


@pytest.mark.parametrize("noise", [laplace, gaussian])
def test_distribution_of_an_average_is_that_of_drawn_ones(noise):
    settings = {"delta": 1e-5, "sigma": 3.0} if noise is gaussian else {"scale": 3.0}
    of_sum, of_count = noise.Mechanism(**settings), noise.Mechanism(**settings)
    rng = np.random.default_rng(4)
    drawn = of_sum.sample(np.full(200_000, 7.0), rng)
    drawn /= np.maximum(of_count.sample(np.full(200_000, 2.0), rng), 1.0)
    places = np.quantile(drawn, [0.001, 0.02, 0.3, 0.5, 0.8, 0.99])
    found = AverageNoise(of_sum, of_count).cdf(places, 7.0, 2.0)
    np.testing.assert_allclose(found, [0.001, 0.02, 0.3, 0.5, 0.8, 0.99], atol=0.004)


@pytest.mark.parametrize(("epsilon", "count"), [(0.05, 1.0), (0.5, 3.0), (5.0, 40.0)])
def test_distribution_of_an_average_is_within_its_stated_error_of_the_integral(epsilon, count):
    bound, total = 50.0, 20.0 * count
    of_sum, of_count = 2 * bound / epsilon, 2 / epsilon
    places = total / count + np.array([-60.0, -10.0, 0.0, 3.0, 25.0])

    def exact(average):
        def at(noise):
            below = stats.laplace.cdf(average * max(count + noise, 1.0) - total, scale=of_sum)
            return below * stats.laplace.pdf(noise, scale=of_count)

        ends = (-40 * of_count, 1 - count, 0.0, 40 * of_count)
        return sum(integrate.quad(at, low, high, limit=200)[0] for low, high in pairwise(sorted(ends)))

    noise = AverageNoise(laplace.Mechanism(scale=of_sum), laplace.Mechanism(scale=of_count))
    np.testing.assert_allclose(noise.cdf(places, total, count), list(map(exact, places)), atol=CDF_ERROR)


@pytest.mark.parametrize(
    ("of_sum", "of_count", "other"), [(1, 1, False), (1, 0, True), (0.5, 1, True), (2, 1, True), (1, 2, True)]
)
def test_noise_of_averages_is_compared_with_the_stated_one(of_sum, of_count, other):
    """With a count that is exact, or half or twice the noise of a part; 2,000 answers."""
    stated = {"name": "laplace", "epsilon": 0.5}
    query = {"kind": "average", "column": "income", "bound": 30.0}
    owner = game(query=query, mechanism=stated, budget=5.0)
    knowledge, rng = build("known", {}, owner, 1), np.random.default_rng(5)
    scorer = split_likelihood.Attack(queries=10).study(knowledge, rng)
    (part,) = play(owner, {"": Adversary(knowledge, scorer)}, 1, range(200), 0)[""].transcripts
    if (of_sum, of_count) != (1, 1):
        sums = part["sums"] + rng.laplace(scale=of_sum * 2 * 30 / 0.5, size=part["sums"].shape)
        counts = part["counts"] + rng.laplace(scale=of_count * 2 / 0.5, size=part["sums"].shape)
        part = {**part, "answers": sums / np.maximum(counts, 1.0)}
    challenger = {"query": query, "budget": 5.0}
    found = compare_transcripts([part], challenger=challenger, mechanism=stated, folder=Path())
    said = decide_conformance(found, 0.001)
    assert any("averages are not distributed" in one for one in map(str.lower, said.departures)) is other
    assert found.certain == ()
