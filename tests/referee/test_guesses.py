import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leakgauge.core.game import Reading
from leakgauge.referee.guesses import order_guesses

SCORES = st.lists(st.integers(-4, 4), min_size=1, max_size=40).map(lambda scores: np.array(scores, float))


def test_signed_scores_are_guessed_on_by_sign_from_the_largest():
    guesses = order_guesses(np.array([0.1, -3.0, 2.0, 0.0]), Reading(signed=True))
    assert guesses.order.tolist() == [1, 2, 0]
    assert guesses.says_member.tolist() == [False, True, True]


def test_other_scores_are_guessed_on_by_rank_from_both_ends():
    guesses = order_guesses(np.array([10.0, 20.0, 30.0, 40.0, 50.0]), Reading())
    assert set(guesses.order[:2].tolist()) == {0, 4}
    assert guesses.sizes((0.02, 0.5, 1.0), 5) == [2, 4]  # the middle one is no evidence


def test_a_constant_score_is_no_evidence():
    assert order_guesses(np.full(9, 3.0), Reading()).sizes((1.0,), 9) == []
    assert order_guesses(np.zeros(9), Reading(signed=True)).sizes((1.0,), 9) == []


@given(SCORES, st.booleans(), st.randoms())
def test_the_order_of_rows_changes_nothing(scores, signed, random):
    """The same scores are guessed on, and the same is said of each."""
    reading, mixed = Reading(signed=signed), random.sample(range(scores.size), scores.size)
    one, other = order_guesses(scores, reading), order_guesses(scores[mixed], reading)
    assert one.ends.tolist() == other.ends.tolist()
    for end in one.ends:
        first = sorted(zip(scores[one.order[:end]], one.says_member[:end], strict=True))
        second = sorted(zip(scores[mixed][other.order[:end]], other.says_member[:end], strict=True))
        assert first == second


@given(SCORES, st.booleans())
def test_negated_scores_say_the_opposite(scores, signed):
    reading = Reading(signed=signed)
    one, other = order_guesses(scores, reading), order_guesses(-scores, reading)
    assert one.ends.tolist() == other.ends.tolist()
    said = dict(zip(one.order.tolist(), one.says_member.tolist(), strict=True))
    opposite = dict(zip(other.order.tolist(), (~other.says_member).tolist(), strict=True))
    assert said == opposite


@given(SCORES)
def test_ranks_ignore_monotone_rescaling(scores):
    one, other = order_guesses(scores, Reading()), order_guesses(np.exp(scores), Reading())
    assert one.order.tolist() == other.order.tolist()
