"""The file of durations says which cases of tests are left to make test-slow."""

import json

from conftest import CHEAPEST_SECONDS, DAY_SECONDS, DURATIONS, slow_cases

SECONDS = json.loads(DURATIONS.read_text("utf-8"))
MOST = 150.0  # CPU seconds of all cases over the limit that make test runs all the same


def test_only_cases_over_the_limit_are_listed():
    assert SECONDS
    assert min(SECONDS.values()) > DAY_SECONDS


def test_what_is_kept_of_slow_functions_is_short_by_itself_and_together():
    kept = [SECONDS[case] for case in SECONDS.keys() - slow_cases(SECONDS, SECONDS)]
    assert max(kept) <= CHEAPEST_SECONDS
    assert sum(kept) <= MOST


def test_of_each_function_one_quick_case_is_left():
    seconds = {"f[1]": 0.5, "f[2]": 0.4, "g": 7.0, "h[2]": 0.3}
    assert slow_cases(["f[1]", "f[2]", "g", "h[1]", "h[2]"], seconds) == {"f[1]", "g", "h[2]"}
