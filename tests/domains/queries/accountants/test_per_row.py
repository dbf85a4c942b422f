import numpy as np
import pytest

from domains.queries.accountants.random_queries import answered, asked, queries, with_and_without
from domains.queries.small_table import table
from leakgauge.domains.queries.query import Query


@pytest.mark.parametrize("seed", range(20))
def test_counts_answers_per_existing_record(seed):
    rng = np.random.default_rng([5, seed])
    there, _ = with_and_without(rng)
    questions = asked(there, queries(rng, 15))
    allowed, spent = answered("per_row", [[False], [True]], questions, 4)
    n_answers = np.zeros((2, len(there.records)), dtype=int)
    for question, may, said in zip(questions, allowed, spent):
        rows = there.records.rows(question.condition)
        for world in (0, 1):
            present = rows if world else rows[rows != 0]  # the target is the first
            expected = n_answers[world, present].max(initial=-1) + 1 <= 4
            assert may[world] == expected
            n_answers[world, present] += expected
        assert said.tolist() == n_answers.max(axis=1).tolist()


@pytest.mark.parametrize("by", ["ids", "predicate"])
def test_theorem_4_splitting_costs_one_answer_without_target(by):
    target, m = 9, 8
    texts = [f"id IN ({i}, {target})" for i in range(m)]
    drawn = [Query(ids=(i, target)) for i in range(m)] if by == "ids" else [Query(where=t) for t in texts]
    there = table(targets=(target,))
    _, spent = answered("per_row", [[False], [True]], asked(there, drawn), 99)
    assert spent[-1].tolist() == [1, m]


def test_refusals_reveal_membership():
    there = table(targets=(9,))
    allowed, _ = answered(
        "per_row", [[False], [True]], asked(there, [Query(ids=(i, 9)) for i in range(8)]), 5
    )
    assert allowed.sum(axis=0).tolist() == [8, 5]


def test_query_about_absent_records_is_free():
    there = table(targets=(9,))
    allowed, spent = answered("per_row", [[False], [True]], asked(there, [Query(ids=(9,))] * 3), 1)
    assert allowed.tolist() == [[True, True], [True, False], [True, False]]
    assert spent[-1].tolist() == [0, 1]
