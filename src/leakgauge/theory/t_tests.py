"""How often the t-test of Huang et al. is right about a target, from m independent answers.

Balanced accuracies: of the formula in the paper, of the test under normal noise, and under Laplace noise.
"""

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtr, stdtr, stdtrit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.theory.square_sums import SquareSums

Form: TypeAlias = Literal["textbook", "paper"]  # of S: a sum of squares over m - 1, or over m
Sides: TypeAlias = Literal[1, 2]

SQRT_2 = float(np.sqrt(2))  # the standard deviation of Laplace noise of scale one


def as_printed(
    m: npt.ArrayLike, ratio: npt.ArrayLike, *, level: float = 0.05, misprint: bool = False
) -> Reals:
    """Success of the two-sided t-test by theorem 5 of Huang et al.: a central t, shifted.

    ``ratio`` is in standard deviations: epsilon / sqrt 2 for a count under Laplace noise. The power of a
    t-test is a non-central t, so this is wrong even for normal noise. With ``misprint`` the critical value is
    that of m degrees of freedom, as in the formulas after the theorem and in its proof, instead of m - 1.

    >>> as_printed([10], 1 / SQRT_2).round(3).tolist()
    [0.72]
    """
    numbers, shifts = _numbers(m), np.sqrt(np.asarray(m, dtype=float)) * _ratios(ratio)
    critical = stdtrit(numbers - (not misprint), 1 - _level(level) / 2)
    missed = stdtr(numbers - 1, critical - shifts) - stdtr(numbers - 1, -critical - shifts)
    return np.asarray((2 - level - missed) / 2)


def normal(
    m: npt.ArrayLike,
    ratio: npt.ArrayLike,
    *,
    form: Form = "textbook",
    sides: Sides = 2,
    level: float = 0.05,
) -> Reals:
    """Success of the t-test under normal noise: exact, a non-central t. ``ratio`` is in standard deviations.

    >>> normal([10], 1 / SQRT_2).round(3).tolist()
    [0.732]
    """
    numbers, critical = _numbers(m), critical_value(m, form=form, sides=sides, level=level)
    shifts = np.sqrt(numbers) * _ratios(ratio)
    power = 1 - nctdtr(numbers - 1, shifts, critical)
    if sides == 2:
        power = power + nctdtr(numbers - 1, shifts, -critical)
    size = sides * stdtr(numbers - 1, -critical)
    return np.asarray((1 - size + power) / 2)


def laplace(
    m: int, ratio: npt.ArrayLike, *, form: Form = "textbook", sides: Sides = 2, level: float = 0.05
) -> Reals:
    """Success of the t-test under Laplace noise, right to 4e-4, for 4 to 100 answers. ``ratio`` is in scales.

    >>> laplace(10, [1.0]).round(3).tolist()
    [0.766]
    """
    critical = float(critical_value(m, form=form, sides=sides, level=level))
    law = SquareSums.of(m)
    size = law.rejected(0.0, critical, both_sides=sides == 2)
    ratios = _ratios(ratio)
    power = [law.rejected(shift, critical, both_sides=sides == 2) for shift in ratios.ravel()]
    return np.asarray((1 - size + np.reshape(power, ratios.shape)) / 2)


def size_laplace(m: int, *, form: Form = "textbook", sides: Sides = 2, level: float = 0.05) -> float:
    """How often the t-test says "member" of a non-member under Laplace noise.

    >>> round(size_laplace(10), 3)
    0.042
    """
    critical = float(critical_value(m, form=form, sides=sides, level=level))
    return SquareSums.of(m).rejected(0.0, critical, both_sides=sides == 2)


def size_normal(m: npt.ArrayLike, *, form: Form = "textbook", sides: Sides = 2, level: float = 0.05) -> Reals:
    """How often the t-test says "member" of a non-member under normal noise: ``level`` in textbook form.

    >>> size_normal([4, 10, 29], form="paper").round(3).tolist()
    [0.07, 0.06, 0.054]
    """
    return np.asarray(sides * stdtr(_numbers(m) - 1, -critical_value(m, form=form, sides=sides, level=level)))


def critical_value(m: npt.ArrayLike, *, form: Form, sides: Sides, level: float) -> Reals:
    """What the textbook t must exceed. The paper's t is sqrt(m / (m - 1)) times as large, for the same table.

    (Huang et al., section 4.4: S with 1/m, the root of m, and m - 1 degrees of freedom.)
    """
    numbers = _numbers(m)
    critical = stdtrit(numbers - 1, 1 - _level(level) / sides)
    match form:
        case "textbook":
            return np.asarray(critical)
        case "paper":
            return np.asarray(critical * np.sqrt((numbers - 1) / numbers))
        case _:
            raise BadInput(f"no form of the t-test is called {form!r}; known: textbook, paper")


def _numbers(m: npt.ArrayLike) -> Reals:
    numbers = np.asarray(m, dtype=float)
    if not ((numbers >= 2) & (numbers == np.floor(numbers)) & (numbers < np.inf)).all():
        raise BadInput(f"the number of answers must be a whole number >= 2, got {m!r}")
    return numbers


def _ratios(ratio: npt.ArrayLike) -> Reals:
    ratios = np.asarray(ratio, dtype=float)
    if not ((ratios >= 0) & (ratios < np.inf)).all():
        raise BadInput(f"the ratio of shift to noise must be >= 0 and finite, got {ratio!r}")
    return ratios


def _level(level: float) -> float:
    if not 0 < level < 1:
        raise BadInput(f"level must be in (0, 1), got {level}")
    return level
