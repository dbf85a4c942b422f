"""The input of an OpenDP measurement, and the promise of its map."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.support.user_code import error_with_location
from leakgauge.theory import composition

INPUT_METRICS = ("AbsoluteDistance", "L1Distance", "L2Distance")  # that agree on one number moved
_CARRIER = re.compile(r"(Vec<)?([iuf])(\d+)>?")


@dataclass(frozen=True)
class MeasurementFactory:
    """A function that makes a measurement, with the features of OpenDP that are enabled here.

    Workers run the function and not the file around it, which may have enabled them.
    """

    make: Callable[[], Any]
    features: tuple[str, ...]

    @classmethod
    def here(cls, make: Callable[[], Any]) -> "MeasurementFactory":
        """With the features of this process."""
        from opendp.mod import GLOBAL_FEATURES

        return cls(make, tuple(sorted(GLOBAL_FEATURES)))

    def __call__(self) -> Any:
        from opendp.mod import enable_features

        enable_features(*self.features)
        return self.make()


def make_measurement(make: Any) -> Any:
    """Make a measurement, once in each process, or raise an error that says why it cannot be made."""
    if is_measurement(make) or not callable(make):
        raise BadInput(
            "opendp: must be a function without arguments that returns a measurement, "
            f"got a {type(make).__name__}"
        )
    return _make_measurement_once(make)


@lru_cache(maxsize=64)
def _make_measurement_once(make: Any) -> Any:
    try:
        measurement = make()
    except Exception as error:
        raise BadInput(f"opendp: making the measurement raised {error_with_location(error)}") from error
    if not is_measurement(measurement):
        raise BadInput(
            f"opendp: the function returned a {type(measurement).__name__}, not a measurement of OpenDP"
        )
    return measurement


def is_measurement(thing: Any) -> bool:
    """Whether something is a measurement of OpenDP, which must be installed."""
    try:
        from opendp.mod import Measurement
    except ModuleNotFoundError:
        raise BadInput("opendp is not installed; pip install 'leakgauge[mechanisms]'") from None
    return isinstance(thing, Measurement)


def one_line_error(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@dataclass(frozen=True)
class MeasurementInput:
    """Numbers as a measurement takes them: one, or a list of them; whole, or real."""

    many: bool
    whole: bool

    @classmethod
    def of(cls, measurement: Any) -> "MeasurementInput":
        """Look at a measurement."""
        kind = str(measurement.input_carrier_type)
        match = _CARRIER.fullmatch(kind)
        metric = str(measurement.input_metric).partition("(")[0]
        if match is None or metric not in INPUT_METRICS:
            raise BadInput(
                f"the measurement takes {kind} under {measurement.input_metric}; it must take one number "
                "under absolute_distance, or a vector of them under l1_distance or l2_distance"
            )
        return cls(many=match[1] is not None, whole=match[2] != "f")

    def noisy(self, measurement: Any, values: Reals) -> list[Any]:
        """Put numbers into a measurement: all at once if it takes vectors, otherwise one after another."""
        if self.whole and not (values == np.floor(values)).all():
            odd = values[values != np.floor(values)].flat[0]
            raise BadInput(f"the measurement takes whole numbers, got {odd}; give it one for real numbers")
        given = [int(value) for value in values] if self.whole else values.tolist()
        if self.many:
            return list(measurement(given))
        return [measurement(value) for value in given]


@dataclass(frozen=True)
class PrivacyCost:
    """The cost of one answer by the map of a measurement: epsilon at a delta, or rho of concentrated DP."""

    epsilon: float
    delta: float
    rho: float | None = None

    def times(self, n: int) -> "PrivacyCost":
        """The price of several answers: rho adds up, otherwise epsilon and delta do."""
        if self.rho is None:
            return PrivacyCost(n * self.epsilon, min(n * self.delta, math.nextafter(1.0, 0.0)))
        return PrivacyCost(composition.zcdp_epsilon(n * self.rho, self.delta), self.delta, n * self.rho)


def privacy_cost(measurement: Any, sensitivity: float, delta: float | None) -> PrivacyCost:
    """Return what the map of a measurement promises for one number moved by ``sensitivity``."""
    whole = not str(measurement.input_distance_type).startswith("f")
    promised = measurement.map(math.ceil(sensitivity) if whole else float(sensitivity))
    measure = str(measurement.output_measure)
    match measure:
        case "MaxDivergence":
            return PrivacyCost(_finite(promised), 0.0)
        case "ZeroConcentratedDivergence":
            rho, at = _finite(promised), _required(delta, measure)
            return PrivacyCost(composition.zcdp_epsilon(rho, at), at, rho)
        case "SmoothedMaxDivergence":
            at = _required(delta, measure)
            return PrivacyCost(_finite(promised.epsilon(at)), at)
        case "Approximate(MaxDivergence)":
            epsilon, least = promised
            if delta is not None and not delta >= least:
                raise BadInput(
                    f"delta = {delta:g}, but the map promises no less than {least:g}; leave delta out"
                )
            return PrivacyCost(_finite(epsilon), least if delta is None else delta)
        case _:
            raise BadInput(
                f"its promise is measured by {measure}, which is not known here; convert it to pure, "
                "approximate or zero-concentrated DP by a combinator of OpenDP"
            )


def _required(delta: float | None, measure: str) -> float:
    if delta is None:
        raise BadInput(f"its promise, measured by {measure}, needs a delta; add delta = 1e-5")
    if not 0 < delta < 1:
        raise BadInput(f"delta must be in (0, 1), got {delta}")
    return delta


def _finite(promised: float) -> float:
    if not 0 < promised < math.inf:
        raise BadInput(f"its map promises {promised}, which is not a finite promise; check its noise scale")
    return float(promised)
