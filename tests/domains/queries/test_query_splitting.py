import numpy as np
import pytest
from scipy import stats
from scipy.stats import kstest
from scipy.stats import laplace as laplace_law

from domains.queries.fake_oracle import FakeOracle, knowledge
from domains.queries.small_table import game, known
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.query_splitting import (
    LikelihoodScore,
    MidpointScore,
    TTest,
    TTestScore,
    require_n_queries,
)
from leakgauge.domains.queries.target_questions import SelectBy, split_query, split_questions
from leakgauge.mechanisms import gaussian, geometric, laplace

SHIFTS = np.array([1.0, -3.0])
NOISE = laplace.Mechanism(scale=2.0)
RULES = [
    TTestScore(TTest(), 0.05, SHIFTS),
    TTestScore(TTest(sides=1), 0.05, SHIFTS),
    MidpointScore(SHIFTS, 1.0),
    LikelihoodScore(NOISE.log_law, SHIFTS),
]


@pytest.fixture
def samples():
    return np.random.default_rng(1).laplace(size=(50, 2, 6))


@pytest.mark.parametrize("rule", RULES)
def test_refused_answers_are_ignored(rule, samples):
    refused = samples.copy()
    refused[:, :, 4:] = np.nan
    np.testing.assert_allclose(rule(refused), rule(samples[:, :, :4]), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_no_answers_are_no_evidence(rule):
    assert (rule(np.full((3, 2, 6), np.nan)) == 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_samples_are_unchanged(rule, samples):
    samples.setflags(write=False)
    np.testing.assert_array_equal(rule(samples), rule(samples))


def test_t_test_needs_two_answers():
    assert RULES[0](np.array([[[5.0], [5.0]]])).tolist() == [[0.0, 0.0]]


def test_t_test_score_is_positive_where_it_rejects(samples):
    rejects = stats.ttest_1samp(samples, 0.0, axis=2).pvalue <= 0.05
    assert 0 < rejects.sum() < rejects.size
    np.testing.assert_array_equal(RULES[0](samples) >= 0, rejects)


def test_one_sided_test_follows_sign_of_target():
    up = np.array([[[2.0, 2.5, 3.0, 2.2], [2.0, 2.5, 3.0, 2.2]]])
    first, second = RULES[1](up)[0]
    assert first > 0 > second
    first, second = RULES[1](-up)[0]
    assert first < 0 < second


def test_midpoint_is_half_the_value():
    at, below, above = (np.full((1, 2, 3), 1.0) * (SHIFTS / 2)[:, None] * k for k in (1.0, 0.9, 1.1))
    rule = MidpointScore(SHIFTS, 1.0)
    assert rule(at).tolist() == [[0.0, 0.0]]
    assert (rule(below) < 0).all()
    assert (rule(above) > 0).all()


def test_midpoint_and_likelihood_agree_under_gaussian_noise(samples):
    noise = gaussian.Mechanism(sigma=2.0, delta=1e-5)
    np.testing.assert_allclose(
        LikelihoodScore(noise.log_law, SHIFTS)(samples), MidpointScore(SHIFTS, 2.0)(samples)
    )


def test_laplace_likelihood_is_sum_of_clipped_answers(samples):
    half = np.abs(SHIFTS)[:, None] / 2
    sides = np.sign(SHIFTS)[:, None]
    clipped = np.clip(samples * sides - half, -half, half).sum(axis=2)
    np.testing.assert_allclose(LikelihoodScore(NOISE.log_law, SHIFTS)(samples), 2 * clipped / 2.0, atol=1e-12)


def test_geometric_ratios_of_integers_are_integers():
    noise = geometric.Mechanism(epsilon=0.5)
    samples = np.array([[[0.0, 1.0, 5.0, np.nan]]])
    found = LikelihoodScore(noise.log_law, np.array([1.0]))(samples)
    assert found.tolist() == [[pytest.approx(0.5)]]  # -0.5 + 0.5 + 0.5


@pytest.fixture
def t_samples():
    return np.random.default_rng(1).laplace(0.5, size=(40, 3, 7))


@pytest.mark.parametrize(("sides", "alternative"), [(2, "two-sided"), (1, "greater")])
def test_textbook_form_matches_scipy(t_samples, sides, alternative):
    book = stats.ttest_1samp(t_samples, 0.0, axis=2, alternative=alternative)
    t, freedom = TTest(sides=sides).statistics(t_samples)
    np.testing.assert_allclose(t, book.statistic, rtol=1e-12)
    assert (freedom == 6).all()
    np.testing.assert_allclose(TTest(sides=sides).p_values(t_samples), book.pvalue, rtol=1e-9)


@pytest.mark.parametrize("sides", [1, 2])
def test_paper_form_divides_by_n_and_keeps_degrees_of_freedom(t_samples, sides):
    t = t_samples.mean(axis=2) / t_samples.std(axis=2, ddof=0) * np.sqrt(7)
    p = sides * stats.t.sf(np.abs(t) if sides == 2 else t, 6)
    np.testing.assert_allclose(TTest(form="paper", sides=sides).p_values(t_samples), p, rtol=1e-9)


def test_missing_answers_are_ignored(t_samples):
    holes = t_samples.copy()
    holes[:, :, 4:] = np.nan
    holes[0, 0, 1:] = np.nan
    book = stats.ttest_1samp(t_samples[1:, :, :4], 0.0, axis=2)
    p = TTest().p_values(holes)
    np.testing.assert_allclose(p[1:], book.pvalue, rtol=1e-9)
    assert np.isnan(p[0, 0])


def test_fewer_than_two_answers_have_no_p_value():
    assert np.isnan(TTest().p_values(np.array([[np.nan, np.nan], [1.0, np.nan]]))).all()
    assert np.isnan(TTest(form="paper").p_values(np.array([[5.0]]))).all()


def test_equal_answers_are_certain_or_uninformative():
    assert TTest().p_values(np.array([[2.0, 2.0], [0.0, 0.0]])).tolist() == [0.0, 1.0]
    assert TTest(sides=1).p_values(np.array([[-2.0, -2.0], [0.0, 0.0]])).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("wrong", [{"form": "book"}, {"sides": 3}])
def test_rejects_unknown_forms(wrong):
    with pytest.raises(BadInput, match="must be"):
        TTest(**wrong)


SUM = {"kind": "sum", "column": "income", "bound": 40.0}


@pytest.mark.parametrize("by", [SelectBy.IDS, SelectBy.PREDICATE])
@pytest.mark.parametrize("query", [{"kind": "count"}, SUM], ids=["count", "sum"])
def test_theorem_1_remainders_are_independent_noise(by, query):
    challenger = game(query=query, targets={"names": [7]})
    found, n = known(challenger), 3_000
    members = np.arange(n)[:, None] % 2 == 1
    samples = split_query(found, 0, 4, by).ask(challenger.release(members, np.random.default_rng(3)).oracle())
    assert samples.shape == (n, 4)
    bound = challenger.query.sensitivity
    shift = min(challenger.table.records.columns["income"][7], 40.0) if query is SUM else 1.0
    noise = samples - members * shift
    law = laplace_law(scale=bound / 0.3)
    for column in noise.T:
        assert kstest(column, law.cdf).pvalue > 1e-3
    assert np.abs(np.corrcoef(noise.T) - np.eye(4)).max() < 4.5 / np.sqrt(n)


def test_theorem_2_needs_as_many_known_records_as_queries():
    challenger = game()
    assert len(split_query(known(challenger, records=10), 0, 10).queries) == 10
    with pytest.raises(BadInput, match=r"needs as many known records .* knows 9; .* raise knowledge.records"):
        split_query(known(challenger, records=9), 0, 10)
    with pytest.raises(BadInput, match=r"knows 9; lower queries, or widen challenger.query"):
        split_query(known(game(data={"records": 10})), 0, 10)
    with pytest.raises(BadInput, match="queries must be >= 1"):
        split_query(known(challenger), 0, 0)


def test_theorem_3_adversary_obtains_m_epsilon():
    challenger = game(targets=2)
    asked = challenger.release(np.zeros((3, 2), dtype=bool), np.random.default_rng(1)).oracle()
    split_query(known(challenger), 1, 12).ask(asked)
    np.testing.assert_allclose(asked.obtained, [[0, 3.6]] * 3)


@pytest.mark.parametrize("by", [SelectBy.IDS, SelectBy.PREDICATE])
def test_theorem_4_oracle_counts_one_epsilon_without_target(by):
    challenger = game()
    asked = challenger.release(np.array([[False], [True]]), np.random.default_rng(1)).oracle()
    split_query(known(challenger), 0, 12, by).ask(asked)
    np.testing.assert_allclose(asked.believed["per_row"], [0.3, 3.6])
    np.testing.assert_allclose(asked.believed["per_predicate"], [3.6, 3.6])


def test_query_sets_are_disjoint():
    found = known(game(targets=3), records=30)
    sets = [set(query.ids) for target in range(3) for query in split_query(found, target, 10).queries]
    assert all(
        len(one & other) == (i // 10 == j // 10)
        for i, one in enumerate(sets)
        for j, other in enumerate(sets[:i])
    )
    few = [set(query.ids) for query in split_query(known(game(targets=3), records=12), 2, 10).queries]
    assert len(set.union(*few)) == 11


def test_text_ids_are_escaped(tmp_path):
    names = ["it's", "a;--b", "plain", "x' OR '1'='1"]
    (tmp_path / "people.csv").write_text("name\n" + "\n".join(names) + "\n")
    challenger = game(
        data={"source": "people.csv", "id": "name"},
        folder=tmp_path,
        mechanism={"name": "laplace", "scale": 1e-6},
        targets={"names": ["x' OR '1'='1"]},
    )
    asked = challenger.release(np.array([[False], [True]]), np.random.default_rng(1)).oracle()
    samples = split_query(known(challenger), 0, 3, SelectBy.PREDICATE).ask(asked)
    np.testing.assert_allclose(samples, [[0, 0, 0], [1, 1, 1]], atol=1e-4)


QUIET = laplace.Mechanism(scale=1e-9)


@pytest.mark.parametrize("by", [SelectBy.IDS, SelectBy.PREDICATE])
def test_known_part_is_subtracted(by):
    query = Query(kind="sum", column="income", bound=10.0)
    known = knowledge(query=query, shifts=(4.0, -7.0), noise=QUIET)
    members = np.array([[True, False], [False, True], [True, True]])
    samples = split_questions(known, 5, by).questions.ask(
        FakeOracle(known, members, np.random.default_rng(1))
    )
    assert samples.shape == (3, 2, 5)
    np.testing.assert_allclose(samples, (members * known.shifts)[:, :, None] * np.ones(5), atol=1e-6)


def test_budget_ends_for_all_targets_together():
    known = knowledge(shifts=(1.0, 1.0), accountant="sequential", budget=6.0, epsilon=1.0)
    oracle = FakeOracle(known, np.ones((2, 2), dtype=bool), np.random.default_rng(1))
    samples = split_questions(known, 10, SelectBy.IDS).questions.ask(oracle)
    assert (~np.isnan(samples)).sum(axis=2).tolist() == [[3, 3], [3, 3]]


def test_queries_share_no_known_record():
    known = knowledge(shifts=(1.0, 1.0), n_known=20)
    questions = split_questions(known, 10, SelectBy.IDS).questions
    others = [one for split in questions.splits for query in split.queries for one in query.ids if one > 1000]
    assert len(set(others)) == len(others) == 20


def test_rejects_fewer_known_records_than_questions():
    with pytest.raises(BadInput, match="queries = 11"):
        split_questions(knowledge(n_known=10), 11, SelectBy.IDS)


@pytest.mark.parametrize("n_queries", [1, 10**9])
def test_rejects_invalid_number_of_queries(n_queries):
    with pytest.raises(BadInput, match=f"queries must be in 2..100000, got {n_queries}"):
        require_n_queries(n_queries, 2)
