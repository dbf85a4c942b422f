import tomllib

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.limits import read_limits
from leakgauge.support.plan_draft import (
    Question,
    inline_table,
    limit_question,
    limits_text,
    optional,
    read_number,
    read_whole,
    table_lines,
)


def test_numbers_are_checked_against_both_ends():
    read = read_number(above=0.5, below=1.0)
    assert read("0.6") == 0.6
    for wrong in ("0.5", "1", "60%", "nan", ""):
        with pytest.raises(BadInput):
            read(wrong)


def test_whole_numbers_are_checked():
    assert read_whole(2)("1_000") == 1000
    for wrong in ("1", "2.5", "-3", "many"):
        with pytest.raises(BadInput, match="must be a whole number of at least 2"):
            read_whole(2)(wrong)


def test_none_is_an_answer_where_it_is_allowed():
    assert optional(read_number())("None") is None


def test_a_word_that_is_no_choice_is_refused_with_the_nearest():
    question = Question(key="unit", text="What", choices={"event": "one visit", "user": "a person"})
    assert question.value(" user ") == "user"
    with pytest.raises(BadInput, match="did you mean 'user'"):
        question.value("users")


def test_a_question_ends_with_its_mark_or_after_its_explanation_with_a_full_stop():
    assert Question(key="a", text="Which one").sentence == "Which one?"
    assert Question(key="a", text='Which one? "none" is allowed').sentence == 'Which one? "none" is allowed.'


def test_the_default_limit_is_one_that_a_plan_accepts():
    question = limit_question()
    limit = question.value(question.default)
    for text in (limits_text(limit), limits_text(None)):
        read_limits(tomllib.loads(text)["limits"], "limits")


def test_tables_read_back_as_they_were():
    table = {
        "source": 'my "own".csv',
        "columns": {"user": "a b", "time": "t"},
        "grid": [3, 4],
        "odd key": 1.5,
    }
    assert tomllib.loads(f"t = {inline_table(table)}")["t"] == table
    assert tomllib.loads(table_lines({**table, "gone": None}, {"grid": "rows"})) == table
