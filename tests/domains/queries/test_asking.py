import numpy as np
import pytest

from domains.queries.fake_oracle import FakeOracle, knowledge
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.asking import Questions, require_queries
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.splitting import By
from leakgauge.mechanisms import laplace

QUIET = laplace.Mechanism(scale=1e-9)


@pytest.mark.parametrize("by", list(By))
def test_what_is_known_is_taken_off(by):
    query = Query(kind="sum", column="income", bound=10.0)
    known = knowledge(query=query, shifts=(4.0, -7.0), noise=QUIET)
    members = np.array([[True, False], [False, True], [True, True]])
    samples = Questions.about_all(known, 5, by).ask(FakeOracle(known, members, np.random.default_rng(1)))
    assert samples.shape == (3, 2, 5)
    np.testing.assert_allclose(samples, (members * known.shifts)[:, :, None] * np.ones(5), atol=1e-6)


def test_a_budget_that_runs_out_runs_out_for_all_targets_alike():
    known = knowledge(shifts=(1.0, 1.0), accountant="sequential", budget=6.0, epsilon=1.0)
    oracle = FakeOracle(known, np.ones((2, 2), dtype=bool), np.random.default_rng(1))
    samples = Questions.about_all(known, 10, By.IDS).ask(oracle)
    assert (~np.isnan(samples)).sum(axis=2).tolist() == [[3, 3], [3, 3]]


def test_no_two_questions_share_a_known_record():
    known = knowledge(shifts=(1.0, 1.0), n_known=20)
    questions = Questions.about_all(known, 10, By.IDS)
    others = [one for split in questions.splits for query in split.queries for one in query.ids if one > 1000]
    assert len(set(others)) == len(others) == 20


def test_fewer_known_records_than_questions_are_refused():
    with pytest.raises(BadInput, match="queries = 11"):
        Questions.about_all(knowledge(n_known=10), 11, By.IDS)


@pytest.mark.parametrize("n_queries", [1, 10**9])
def test_a_number_of_questions_that_no_attack_could_ask_is_refused(n_queries):
    with pytest.raises(BadInput, match=f"queries must be in 2..100000, got {n_queries}"):
        require_queries(n_queries, 2)
