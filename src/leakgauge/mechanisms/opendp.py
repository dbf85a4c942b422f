"""Noise drawn by an OpenDP measurement, which has a law as stated and a promise of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Curve, Guarantee
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.mechanisms._following import allowed_distance, distance
from leakgauge.mechanisms._measurements import Carrier, Enabled, Price, is_measurement, made, price, told

Law: TypeAlias = laplace.Mechanism | gaussian.Mechanism | geometric.Mechanism

DRAWS = 5_000  # by which the law is checked
_CLOSE = 1e-6  # of two epsilons that are the same but for careful rounding


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Noise as an OpenDP measurement adds it, with OpenDP's own randomness.

    ``make()`` returns a measurement on one number, or on a vector to whose entries it adds independent noise.
    ``law`` is what an adversary takes the noise for. The promise is that of the measurement's map, at
    ``delta`` where its measure needs one. Draws do not depend on any seed: they cannot be replayed.
    """

    make: Callable[[], Any] = field(repr=False, compare=False)  # travels to workers; measurements do not
    law: Law
    delta: float | None = None
    source: str = ""  # the code of ``make``

    @property
    def measurement(self) -> Any:
        """The measurement, made once in each process."""
        return made(self.make)

    @property
    def carrier(self) -> Carrier:
        """How numbers are put into it."""
        return Carrier.of(self.measurement)

    @property
    def price(self) -> Price:
        """What one answer costs by the map."""
        return price(self.measurement, self.law.sensitivity, self.delta)

    @property
    def sensitivity(self) -> float:
        return self.law.sensitivity

    @property
    def noise_scale(self) -> float:
        return self.law.noise_scale

    @property
    def explained(self) -> bool:
        """Whether the law supports just what the map promises: then the law's curve is the whole promise.

        Noise on whole numbers is near a Laplace law at best: geometric noise of its epsilon reveals more.
        """
        if self.carrier.whole and isinstance(self.law, laplace.Mechanism):
            return False
        if isinstance(self.law, gaussian.Mechanism):
            own, promised = (self.sensitivity / self.noise_scale) ** 2 / 2, self.price.rho
        else:
            own, promised = self.law.guarantee.epsilon, self.price.epsilon if not self.price.delta else None
        return promised is not None and abs(own - promised) <= _CLOSE * promised

    @property
    def guarantee(self) -> Guarantee:
        """What the map promises; the law stands beside it as the exact one."""
        law = self.law_at(self.price.delta).guarantee
        curve = law.curve if self.explained else None
        return replace(
            law,
            epsilon=self.price.epsilon,
            delta=self.price.delta,
            nominal_epsilon=self.price.epsilon,
            curve=curve,
        )

    def law_at(self, delta: float) -> Law:
        """The law, with its promise read at a delta."""
        if not isinstance(self.law, gaussian.Mechanism) or not delta:
            return self.law
        return replace(self.law, sigma=self.noise_scale, delta=delta)

    def sample(self, values: Reals, rng: Generator) -> Reals:
        flat = np.asarray(values, dtype=np.float64).ravel()
        try:
            drawn = np.asarray(self.carrier.noisy(self.measurement, flat), dtype=np.float64)
        except BadInput as error:
            raise BadInput(f"opendp: {str(error).removeprefix('opendp: ')}") from None
        except Exception as error:
            raise BadInput(f"opendp: the measurement raised {told(error)}") from error
        if drawn.shape != flat.shape or not np.isfinite(drawn).all():
            raise BadInput(
                f"opendp: for {flat.size} numbers the measurement returned {_shown(drawn)}; it must return a "
                "finite one for each"
            )
        return drawn.reshape(np.shape(values))

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density (or probability) of each output given its value, by the stated law."""
        return self.law.log_law(outputs, values)

    def curve(self, low: Reals, high: Reals) -> Curve | None:
        """The trade-off between two vectors of values, by the stated law."""
        return self.law.curve(low, high)

    def require_law(self) -> None:
        """Refuse a law that is far from what the measurement draws."""
        values = np.repeat([0.0, self.sensitivity], DRAWS // 2)
        if self.carrier.whole:
            values = np.ceil(values)
        noise = self.sample(values, np.random.default_rng(0)) - values
        name, most = type(self.law).__module__.rpartition(".")[2], allowed_distance(noise.size)
        if isinstance(self.law, geometric.Mechanism) and not (noise == np.floor(noise)).all():
            raise BadInput("opendp: law 'geometric', but the measurement adds noise that is not whole")
        if (far := distance(noise, self.law)) > most:
            raise BadInput(
                f"opendp: {noise.size} draws of the measurement do not follow the law {name!r} of scale "
                f"{self.noise_scale:g}: their distribution is {far:.3f} off, where at most {most:.3f} is "
                "chance; state the law and the scale that it draws from"
            )


@dataclass(frozen=True, eq=False)
class Release:
    """An OpenDP measurement as a release: it is given a whole data set."""

    given: Any

    @property
    def measurement(self) -> Any:
        """The measurement, made once in each process."""
        return self.given if is_measurement(self.given) else made(self.given)

    def __call__(self, dataset: Any, rng: Generator) -> Any:
        return self.measurement(dataset.tolist() if isinstance(dataset, np.ndarray | np.generic) else dataset)

    def __reduce__(self) -> tuple[type["Release"], tuple[Any]]:
        if is_measurement(self.given):
            raise BadInput(
                "an OpenDP measurement cannot be sent to workers: give release_of a function that makes "
                "it, or use one worker"
            )
        return Release, (self.given,)


def release_of(measurement: Any) -> Release:
    """Turn an OpenDP measurement, or a function that makes one, into a release that can be audited.

    ``leakgauge.audit_mechanism(release_of(it), pair, epsilon=it.map(1))``. OpenDP draws by itself, so that an
    audit cannot be replayed from its seed. With several workers, give the function.
    """
    if is_measurement(measurement):
        return Release(measurement)
    made(measurement)  # says now what is wrong with it
    return Release(Enabled.here(measurement))


def _shown(drawn: Reals) -> str:
    return f"{drawn.size}" if np.isfinite(drawn).all() else "some that are not finite"
