import numpy as np
import pytest

from domains.queries.fake_oracle import auc, knowledge, played, success
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.attacks.refusal import Attack, refusal_scores


def test_an_accountant_of_existing_records_gives_members_away():
    known = knowledge(epsilon=0.3, accountant="per_row", budget=3.0)
    assert success(Attack(queries=11), known, 2_000) == (1.0, 0.0)
    assert auc(Attack(queries=30), known).low >= 0.99


def test_too_few_questions_are_never_refused():
    known = knowledge(epsilon=0.3, accountant="per_row", budget=3.0)
    assert (played(Attack(queries=10), known, 200)[1] == -1).all()


@pytest.mark.parametrize("accountant", ["per_predicate", "sequential", "none"])
def test_refusals_of_sound_accountants_carry_no_information(accountant):
    known = knowledge(epsilon=0.3, accountant=accountant, budget=3.0)
    found = auc(Attack(queries=30), known)
    assert found.low <= 0.5 <= found.high
    members, scores, _ = played(Attack(queries=30), known, 500)
    assert np.unique(scores).size == 1  # not by chance: it is the same in every round
    assert np.unique(members).size == 2


def test_each_target_is_refused_for_itself():
    known = knowledge(epsilon=1.0, accountant="per_row", budget=3.0, shifts=(1.0, 1.0, 1.0))
    members, scores, _ = played(Attack(queries=5), known, 300)
    np.testing.assert_array_equal(scores > 0, members)


def test_the_moment_of_refusal_is_the_score():
    answers = np.array([[[1.0, 1.0, 1.0, np.nan]], [[1.0, np.nan, np.nan, np.nan]], [[1.0] * 4]])
    assert refusal_scores(answers).ravel().tolist() == [0.25, 0.75, -1.0]


def test_a_budget_that_answers_nothing_tells_nothing():
    known = knowledge(epsilon=1.0, accountant="per_row", budget=0.5)
    assert (played(Attack(queries=5), known, 100)[1] == 0).all()


def test_one_question_is_not_enough():
    with pytest.raises(BadInput, match=r"queries must be in 2\.\."):
        Attack(queries=1)
