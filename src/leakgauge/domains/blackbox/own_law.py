"""The noise distribution of a release of one's own, stated as a function, and whether it fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.blackbox.release import ReleaseFunction, run_release
from leakgauge.referee.ratio_calibration import ratio_calibration
from leakgauge.support.user_code import error_with_location

LogProbability: TypeAlias = Callable[[Any, Any], Any]  # of an output, given an input

LAW_CHECK_LEVEL = 1e-6  # of refusing a distribution that does fit
DRAWS = 2_000  # by which it is checked
_LARGEST = 1e6  # stands for certainty


@dataclass(frozen=True, eq=False)
class OwnLogRatio:
    """How much likelier outputs are with the target, by ``law(output, input)``: a log probability."""

    law: LogProbability
    pair: tuple[Any, Any]

    def __call__(self, outputs: Sequence[Any]) -> Reals:
        """Return log ratios, as large as certainty where an output is possible with one input only."""
        return np.clip(np.nan_to_num(self.raw(outputs), nan=0.0), -_LARGEST, _LARGEST)

    def raw(self, outputs: Sequence[Any]) -> Reals:
        """Return log ratios; not a number where an output is impossible with either input."""
        without, with_target = (
            np.array([self._log_probability(output, given) for output in outputs]) for given in self.pair
        )
        with np.errstate(invalid="ignore"):
            return np.asarray(with_target - without)

    def _log_probability(self, output: Any, given: Any) -> float:
        try:
            value = float(self.law(output, given))
        except (Exception, SystemExit) as error:
            raise BadInput(
                f"mechanism.law raised {error_with_location(error)}; it takes an output and an input, and "
                "returns one number"
            ) from error
        if not value < np.inf:
            raise BadInput(
                "mechanism.law: must return a log probability, or -inf where an output is impossible, got "
                f"{value}"
            )
        return value


@dataclass(frozen=True, eq=False)
class MarkedLaw:
    """The distribution of a release whose output shows which input it was made from."""

    law: LogProbability

    def __call__(self, output: Any, given: Any) -> float:
        shown, member = output
        return float(self.law(shown, given.value)) if member == given.member else -np.inf


def require_fit(
    function: ReleaseFunction, law: LogProbability, pair: tuple[Any, Any], rng: Generator
) -> None:
    """Refuse a stated distribution that draws of the release contradict."""
    members = rng.random(DRAWS) < 0.5
    ratios = OwnLogRatio(law, pair).raw(run_release(function, pair, members, rng))
    test = ratio_calibration(ratios, members)
    if test.p_value < LAW_CHECK_LEVEL:
        raise BadInput(
            f"mechanism.law: is not the distribution of the release: {test.finding}; correct one of them, or "
            "leave law out"
        )
    if not ratios.any():
        raise BadInput(
            f"mechanism.law: gives each of {DRAWS} outputs the same probability with both inputs, so no "
            "attack by it could find anything; correct it, or leave it out"
        )
