import json

import numpy as np

from leakgauge.support.error_location import user_code_location


def raised(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return user_code_location(error)
    raise AssertionError("nothing was raised")


def read(text):
    return json.loads(text)


def draw(scale):
    return np.random.default_rng(1).laplace(scale=scale)


def test_line_that_called_a_library_is_returned():
    for function, argument in ((read, "{"), (draw, -1.0)):  # a Python library, a compiled one
        assert raised(function, argument) == f"{__file__}, line {function.__code__.co_firstlineno + 1}"


def test_code_typed_at_a_prompt_has_a_line():
    typed = {}
    exec(compile("def fail():\n    return 1 / 0\n", "<stdin>", "exec"), typed)
    assert raised(typed["fail"]) == "<stdin>, line 2"


def test_library_line_is_returned_where_no_line_is_the_users():
    try:
        json.loads("{")
    except ValueError as error:
        location = user_code_location(error.with_traceback(error.__traceback__.tb_next))
    assert "json" in location


def test_error_without_lines_has_no_location():
    assert user_code_location(ValueError()) == ""
