import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakgauge.referee.estimate import Estimate
from leakgauge.report import number_format

FRACTIONS = st.floats(0, 1)
SIZES = st.floats(1e-12, 1e12)
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read(text: str) -> float:
    """What a reader takes the text for."""
    match = re.fullmatch(r"(?:([\d.]+) × )?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text)
    if match:
        return float(match[1] or 1) * 10.0 ** int(match[2].translate(RAISED))
    return float(text.lstrip("<>").rstrip("%").replace(",", ""))


@given(SIZES)
def test_bounds_are_rounded_conservatively(value):
    assert read(number_format.lower(value)) <= value * (1 + 1e-12)
    assert read(number_format.upper(value)) >= value * (1 - 1e-12)


@given(SIZES)
def test_three_digits_are_within_half_a_percent(value):
    assert math.isclose(read(number_format.number(value)), value, rel_tol=0.006)
    assert math.isclose(read(number_format.measured(value)), value, rel_tol=0.006)


@given(FRACTIONS)
def test_percentages_enclose_the_value(fraction):
    low, middle, high = (
        read(write(fraction)) / 100
        for write in (number_format.lower_percent, number_format.percent, number_format.upper_percent)
    )
    assert low <= fraction * (1 + 1e-12)
    assert high >= fraction * (1 - 1e-12)
    assert middle == pytest.approx(fraction, abs=0.00051)


@given(FRACTIONS.filter(lambda fraction: 1e-9 < fraction < 1 - 1e-9))
def test_only_certainty_is_shown_as_0_or_100_percent(fraction):
    assert 0 < read(number_format.percent(fraction)) < 100


def test_near_certainty_has_few_digits():
    assert number_format.percent(0.99999999999984) == ">99.999%"
    assert number_format.lower_percent(0.99999999999984) == "99.999%"
    assert number_format.upper_percent(0.99999999999984) == "100%"
    assert number_format.percent(1e-12) == "<0.001%"
    assert number_format.upper_percent(1e-12) == "0.001%"
    assert number_format.lower_percent(1e-12) == "0%"


@given(st.floats(0.01, 100), st.floats(1e-9, 0.01))
def test_exceeded_bound_stays_visible_after_rounding(bound, excess):
    low = bound * (1 + excess)
    assert bound < read(number_format.lower(low, above=bound)) <= low * (1 + 1e-12)


@given(st.floats(0.01, 0.9), st.floats(1e-9, 0.01))
def test_exceeded_share_stays_visible_after_rounding(bound, excess):
    low = bound * (1 + excess)
    assert bound * 100 < read(number_format.lower_percent(low, above=bound))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (2207, "2,207"),
        (66048.0, "66,048"),
        (0.5, "0.5"),
        (-0.25, "-0.25"),
        (1e-5, "10⁻⁵"),
        (1.25e-7, "1.25 × 10⁻⁷"),
        (1e12, "10¹²"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
    ],
)
def test_number_formats(value, text):
    assert number_format.number(value) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0, "0%"), (1.0, "100%"), (0.5, "50.0%"), (0.99997, "99.997%"), (0.0001, "0.01%"), (None, "–")],
)
def test_percentage_formats(fraction, text):
    assert number_format.percent(fraction) == text


def test_confidence_has_no_trailing_zeros():
    written = [
        number_format.confidence(Estimate(value=1, confidence=c, method="m")) for c in (0.9, 0.95, 0.999)
    ]
    assert written == ["90%", "95%", "99.9%"]


def test_charts_use_five_digits_and_no_infinity():
    assert [number_format.brief(x) for x in (1 / 3, math.inf, math.nan, None, 0.0)] == [
        0.33333,
        None,
        None,
        None,
        0.0,
    ]
