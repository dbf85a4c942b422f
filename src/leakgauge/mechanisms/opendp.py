"""Noise drawn by an OpenDP measurement, with its stated noise distribution and its own promise."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, TradeoffCurve
from leakgauge.mechanisms import name_of
from leakgauge.mechanisms._additive import AdditiveNoise, ApproximateNoise, moved_values
from leakgauge.support.user_code import error_with_location
from leakgauge.theory import composition

INPUT_METRICS = ("AbsoluteDistance", "L1Distance", "L2Distance")  # that agree on one number moved
_CARRIER = re.compile(r"(Vec<)?([iuf])(\d+)>?")
LAW_CHECK_LEVEL = 1e-6  # of refusing noise that does follow it
DRAWS = 5_000  # by which the stated distribution is checked
_CLOSE = 1e-6  # of two epsilons that are equal except for rounding


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


def allowed_distance(n: int) -> float:
    """The largest distance of n draws from their own distribution, exceeded with probability LAW_CHECK_LEVEL.

    (Dvoretzky, Kiefer and Wolfowitz 1956, with Massart's constant of 1990; it holds for discrete noise too.)
    """
    return float(np.sqrt(np.log(2 / LAW_CHECK_LEVEL) / (2 * n)))


def kolmogorov_distance(draws: Reals, noise: AdditiveNoise) -> float:
    """The largest difference between the distribution function of the draws and that of the stated noise."""
    values, counts = np.unique(draws, return_counts=True)
    at = np.cumsum(counts) / draws.size
    before = at - counts / draws.size
    here = just_before = np.exp(noise.log_cdf(values))
    if noise.lattice:
        here, just_before = (np.exp(noise.log_cdf(ends)) for ends in (np.floor(values), np.ceil(values) - 1))
    return float(max(np.abs(at - here).max(), np.abs(before - just_before).max()))


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Noise added by an OpenDP measurement, with OpenDP's own randomness.

    ``make()`` returns a measurement on one number, or on a vector to whose entries it adds independent noise.
    ``law`` is the noise distribution that an attacker assumes. The promise is that of the measurement's map,
    at ``delta`` where its measure needs one. Draws do not depend on any seed: they cannot be replayed.
    """

    make: Callable[[], Any] = field(repr=False, compare=False)  # can be sent to workers; measurements cannot
    law: AdditiveNoise
    delta: float | None = None
    source: str = ""  # the code of ``make``

    @property
    def measurement(self) -> Any:
        """The measurement, made once in each process."""
        return make_measurement(self.make)

    @property
    def carrier(self) -> MeasurementInput:
        """How numbers are put into it."""
        return MeasurementInput.of(self.measurement)

    @property
    def price(self) -> PrivacyCost:
        """The cost of one answer, from the map."""
        return privacy_cost(self.measurement, self.law.sensitivity, self.delta)

    @property
    def sensitivity(self) -> float:
        return self.law.sensitivity

    @property
    def noise_scale(self) -> float:
        return self.law.noise_scale

    @property
    def explained(self) -> bool:
        """Whether the stated noise has exactly the guarantee of the map: then its curve is promised too.

        Noise on whole numbers only approximates Laplace noise: geometric noise with the same epsilon reveals
        more.
        """
        if self.carrier.whole and not (self.law.lattice or isinstance(self.law, ApproximateNoise)):
            return False
        if isinstance(self.law, ApproximateNoise):
            own, promised = self.law.rho, self.price.rho
        else:
            own, promised = self.law.guarantee.epsilon, self.price.epsilon if not self.price.delta else None
        return promised is not None and abs(own - promised) <= _CLOSE * promised

    @property
    def guarantee(self) -> Guarantee:
        """The promise of the map, with the exact epsilon of the stated noise."""
        law = self.law_at(self.price.delta).guarantee
        curve = law.curve if self.explained else None
        return replace(
            law,
            epsilon=self.price.epsilon,
            delta=self.price.delta,
            nominal_epsilon=self.price.epsilon,
            curve=curve,
        )

    def law_at(self, delta: float) -> AdditiveNoise:
        """The stated noise, with its guarantee read at a delta."""
        if not isinstance(self.law, ApproximateNoise) or not delta:
            return self.law
        return replace(self.law, sigma=self.noise_scale, delta=delta)

    def sample(self, values: Reals, rng: Generator) -> Reals:
        flat = np.asarray(values, dtype=np.float64).ravel()
        try:
            drawn = np.asarray(self.carrier.noisy(self.measurement, flat), dtype=np.float64)
        except BadInput as error:
            raise BadInput(f"opendp: {str(error).removeprefix('opendp: ')}") from None
        except Exception as error:
            raise BadInput(f"opendp: the measurement raised {one_line_error(error)}") from error
        if drawn.shape != flat.shape or not np.isfinite(drawn).all():
            raise BadInput(
                f"opendp: for {flat.size} numbers the measurement returned {_shown(drawn)}; it must return a "
                "finite one for each"
            )
        return drawn.reshape(np.shape(values))

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density (or probability) of each output given its value, by the stated noise."""
        return self.law.log_law(outputs, values)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two vectors of values, by the stated distribution."""
        best = self.law.best_attack(moved_values(high - low))
        return None if best is None else best.high

    def require_law(self) -> None:
        """Refuse stated noise that is far from what the measurement draws."""
        values = np.repeat([0.0, self.sensitivity], DRAWS // 2)
        if self.carrier.whole:
            values = np.ceil(values)
        noise = self.sample(values, np.random.default_rng(0)) - values
        name, most = name_of(self.law), allowed_distance(noise.size)
        if self.law.lattice and not (noise == np.floor(noise)).all():
            raise BadInput(
                f"opendp: law = {name!r}, but the measurement adds noise that is not a whole number"
            )
        if (far := kolmogorov_distance(noise, self.law)) > most:
            raise BadInput(
                f"opendp: {noise.size} draws of the measurement do not follow the distribution {name!r} "
                "of scale "
                f"{self.noise_scale:g}: their distribution is {far:.3f} off, where at most {most:.3f} is "
                "chance; state the distribution (law) and scale that it really uses"
            )


@dataclass(frozen=True, eq=False)
class OpenDPRelease:
    """An OpenDP measurement as a release: it is given a whole data set."""

    given: Any

    @property
    def measurement(self) -> Any:
        """The measurement, made once in each process."""
        return self.given if is_measurement(self.given) else make_measurement(self.given)

    def __call__(self, dataset: Any, rng: Generator) -> Any:
        return self.measurement(dataset.tolist() if isinstance(dataset, np.ndarray | np.generic) else dataset)

    def __reduce__(self) -> tuple[type["OpenDPRelease"], tuple[Any]]:
        if is_measurement(self.given):
            raise BadInput(
                "an OpenDP measurement cannot be sent to workers: give release_of a function that makes "
                "it, or use one worker"
            )
        return OpenDPRelease, (self.given,)


def release_of(measurement: Any) -> OpenDPRelease:
    """Turn an OpenDP measurement, or a function that makes one, into a release that can be audited.

    ``leakgauge.audit_mechanism(release_of(it), pair, epsilon=it.map(1))``. OpenDP uses its own random
    numbers, so an audit cannot be repeated from its seed. With several workers, give the function.
    """
    if is_measurement(measurement):
        return OpenDPRelease(measurement)
    make_measurement(measurement)  # raises an error about it now
    return OpenDPRelease(MeasurementFactory.here(measurement))


def _shown(drawn: Reals) -> str:
    return f"{drawn.size}" if np.isfinite(drawn).all() else "some that are not finite"
