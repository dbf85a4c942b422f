import pytest

from domains.queries.small_table import table
from leakgauge.domains.queries.caches import Cache, same
from leakgauge.domains.queries.query import Kind, Query

COUNT = Query(where="age > 30 AND smoker")


def shared(cache, one, other):
    return same(cache, table().ask(one)) == same(cache, table().ask(other))


@pytest.mark.parametrize(
    ("other", "text", "canonical"),
    [
        (Query(where="age > 30 AND smoker"), True, True),
        (Query(where="age  > 30 AND smoker"), False, True),
        (Query(where="smoker and not AGE <= 30"), False, True),
        (Query(where="age > 31 AND smoker"), False, False),
        (Query(kind=Kind.SUM, column="income", bound=1.0, where="age > 30 AND smoker"), False, False),
    ],
)
def test_a_cache_knows_a_question_by_its_words_or_by_its_condition(other, text, canonical):
    assert shared(Cache.TEXT, COUNT, other) is text
    assert shared(Cache.CANONICAL, COUNT, other) is canonical


def test_ids_are_a_set_to_a_canonical_cache_and_the_same_as_a_predicate_that_names_them():
    one, turned, written = Query(ids=(3, 5)), Query(ids=(5, 3)), Query(where="id = 5 OR id = 3")
    assert shared(Cache.CANONICAL, one, turned)
    assert shared(Cache.CANONICAL, one, written)
    assert not shared(Cache.TEXT, one, turned)


def test_questions_that_happen_to_select_the_same_records_are_not_the_same():
    one, other = Query(where="age > 1000"), Query(where="age > 2000")
    assert not shared(Cache.CANONICAL, one, other)


def test_without_a_cache_no_question_is_known():
    assert same(Cache.NONE, table().ask(COUNT)) is None


def test_sums_with_different_bounds_are_different_questions():
    one, other = (Query(kind=Kind.SUM, column="income", bound=b, ids=(1,)) for b in (1.0, 2.0))
    assert not shared(Cache.CANONICAL, one, other)
    assert not shared(Cache.TEXT, one, other)
