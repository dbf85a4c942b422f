"""Numbers as text, rounded so that the page claims no more than the audit does."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from leakgauge.referee.estimate import Estimate

NOTHING = "–"
ALMOST_CERTAIN = 0.999
DIGITS, MOST_DIGITS, MOST_PLACES = 3, 15, 3
_NEAREST, _SMALLEST, _LARGEST = 1e-5, "0.001%", "99.999%"  # fractions nearer to 0 or 1 are not told apart
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None) -> str:
    """A number that was set, not measured: three significant digits, without trailing zeros.

    >>> number(0.12345), number(2207), number(1.0), number(1e-5), number(None)
    ('0.123', '2,207', '1', '10⁻⁵', '–')
    """
    text = _write(value, DIGITS, ROUND_HALF_EVEN)
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def measured(value: float | None) -> str:
    """A number that was measured: three significant digits, with trailing zeros.

    >>> measured(0.92), measured(0.0)
    ('0.920', '0')
    """
    return _write(value, DIGITS, ROUND_HALF_EVEN)


def lower(value: float | None, *, above: float | None = None) -> str:
    """A lower bound, rounded down; where it exceeds ``above``, with enough digits to see that it does.

    >>> lower(1.4399), lower(1.0004, above=1.0)
    ('1.43', '1.0004')
    """
    digits = DIGITS
    if value is not None and above is not None and math.isfinite(value) and value > above:
        while digits < MOST_DIGITS and not _round(value, digits, ROUND_FLOOR) > _exact(above):
            digits += 1
    return _write(value, digits, ROUND_FLOOR)


def upper(value: float | None, *, below: float | None = None) -> str:
    """An upper bound, rounded up; where it is less than ``below``, with enough digits to see that it is.

    >>> upper(1.431), upper(0.9996, below=1.0)
    ('1.44', '0.9996')
    """
    digits = DIGITS
    if value is not None and below is not None and math.isfinite(value) and value < below:
        while digits < MOST_DIGITS and not _round(value, digits, ROUND_CEILING) < _exact(below):
            digits += 1
    return _write(value, digits, ROUND_CEILING)


def percent(fraction: float | None) -> str:
    """A fraction as a percentage; only exactly 0 and 1 are shown as 0% and 100%.

    >>> percent(0.7312), percent(0.99997), percent(0.00012), percent(1.0)
    ('73.1%', '99.997%', '0.012%', '100%')
    >>> percent(1 - 1e-13), percent(1e-9)
    ('>99.999%', '<0.001%')
    """
    if fraction is not None and 1 - _NEAREST < fraction < 1:
        return f">{_LARGEST}"
    if fraction is not None and 0 < fraction < _NEAREST:
        return f"<{_SMALLEST}"
    return _write_percent(fraction, ROUND_HALF_EVEN)


def allowed_percent(fraction: float | None) -> str:
    """What a promise allows, as a percentage; more than 99.9 % is as good as certainty.

    >>> allowed_percent(0.7312), allowed_percent(0.99949), allowed_percent(1.0)
    ('73.1%', '>99.9%', '100%')
    """
    return ">99.9%" if fraction is not None and ALMOST_CERTAIN < fraction < 1 else percent(fraction)


def lower_percent(fraction: float | None, *, above: float | None = None) -> str:
    """The low end of an interval as a percentage, rounded down; above a bound, with enough digits to see it.

    >>> lower_percent(0.6999), lower_percent(0.73118, above=0.7311)
    ('69.9%', '73.118%')
    """
    return _write_percent(fraction, ROUND_FLOOR, above)


def upper_percent(fraction: float | None, *, below: float | None = None) -> str:
    """The high end of an interval as a percentage, rounded up; below a limit, with enough digits to see it.

    >>> upper_percent(0.7001), upper_percent(0.59998, below=0.6)
    ('70.1%', '59.998%')
    """
    return _write_percent(fraction, ROUND_CEILING, below=below)


def count(n: int | None) -> str:
    """A whole number.

    >>> count(66048)
    '66,048'
    """
    return NOTHING if n is None else f"{n:,}"


def times(n: int, noun: str) -> str:
    """A count with its noun.

    >>> times(1, "audit"), times(2000, "round"), times(2, "study")
    ('1 audit', '2,000 rounds', '2 studies')
    """
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{n:,} {noun if n == 1 else plural}"


def confidence(estimate: Estimate) -> str:
    """The confidence level of an estimate.

    >>> confidence(Estimate(value=1.0, confidence=0.95, method="counting"))
    '95%'
    """
    return level(estimate.confidence)


def level(fraction: float) -> str:
    """A percentage that was set, not measured.

    >>> level(0.95), level(0.999)
    ('95%', '99.9%')
    """
    return f"{(_exact(fraction) * 100).normalize():f}%"


def brief(value: float | None) -> float | None:
    """A number to five digits, enough for a chart; ``None`` where there is none or it is infinite.

    >>> brief(0.123456789), brief(float("inf"))
    (0.12346, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.5g}")


def _write(value: float | None, digits: int, rounding: str) -> str:
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    rounded = _round(value, digits, rounding)
    power = rounded.adjusted()
    if rounded and not -4 <= power <= 8:
        mantissa = rounded.scaleb(-power).normalize()
        raised = f"10{str(power).translate(_RAISED)}"
        return raised if mantissa == 1 else f"{mantissa:f} × {raised}"
    return f"{rounded:,f}"


def _write_percent(
    fraction: float | None, rounding: str, above: float | None = None, below: float | None = None
) -> str:
    if fraction is None or not math.isfinite(fraction):
        return _write(fraction, DIGITS, rounding)
    exact = _exact(fraction) * 100
    from_an_end = min(abs(exact), abs(100 - exact))
    if not from_an_end:
        return f"{exact:.0f}%"
    places = 1 if from_an_end >= 1 else min(1 - from_an_end.adjusted(), MOST_PLACES)
    shown = _at(exact, places, rounding)
    while places < MOST_DIGITS and (
        (above is not None and exact > _exact(above) * 100 >= shown)
        or (below is not None and exact < _exact(below) * 100 <= shown)
    ):
        places += 1
        shown = _at(exact, places, rounding)
    return f"{shown if from_an_end >= 1 else shown.normalize():f}%".replace("-0%", "0%")


def _round(value: float, digits: int, rounding: str) -> Decimal:
    exact = _exact(value)
    return _at(exact, max(digits - 1 - exact.adjusted(), 0), rounding) if exact else Decimal(0)


def _at(exact: Decimal, places: int, rounding: str) -> Decimal:
    return exact.quantize(Decimal(1).scaleb(-places), rounding=rounding)


def _exact(value: float) -> Decimal:
    return Decimal(repr(float(value)))
