"""PrivUnit: a random direction that lies more often near the true one than elsewhere."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.mechanisms._local_reports import LocalReports, LossCells
from leakgauge.mechanisms._validation import require_whole
from leakgauge.theory.privacy_loss import TernaryCell

LEAST_HALF = 1e-8  # of (1 - cosine) / 2 at the edge of a cap: narrower ones drown in rounding errors
LEAST_AREA = 1e-260  # of a cap; smaller ones cannot be computed
ON_SPHERE = 1e-6  # how far from it the length of an output may be, by rounding
SAME = 1e-12  # of the cosine of two directions


class PrivUnitCalibration(StrEnum):
    """How the size of the cap follows from epsilon."""

    EXACT = "exact"  # its exact area, so that epsilon is met with equality
    PAPER = "paper"  # the sufficient condition of Bhowmick et al. (2018), which meets it with room to spare


@dataclass(frozen=True)
class Cap:
    """The directions v with <v, u> >= ``cosine``; ``area`` is the share of all directions that they are."""

    features: int
    half: float  # (1 - cosine) / 2, which has more digits

    @property
    def cosine(self) -> float:
        return 1 - 2 * self.half

    @property
    def area(self) -> float:
        return float(scipy.special.betainc(self.alpha, self.alpha, self.half))

    @property
    def alpha(self) -> float:
        return (self.features - 1) / 2

    @property
    def log_lift(self) -> float:
        """Log of the mean of <v, u> over the directions in the cap, each direction outside counting 0."""
        edge = self.alpha * (np.log(4) + np.log(self.half) + np.log1p(-self.half))
        constant = (
            scipy.special.gammaln(self.features / 2) - scipy.special.gammaln(self.alpha) - np.log(np.pi) / 2
        )
        return float(constant + edge - np.log(self.features - 1))

    def mean_cosine(self, log_odds: float) -> float:
        """The mean of <v, u> if v is in the cap with these log odds."""
        inside = np.exp(self.log_lift + scipy.special.log_expit(log_odds) - np.log(self.area))
        return float(inside - np.exp(self.log_lift + scipy.special.log_expit(-log_odds)) / (1 - self.area))


@dataclass(frozen=True, kw_only=True)
class Mechanism(LocalReports):
    """Report a direction: with probability p one of the cap around the true one, otherwise one outside.

    (Bhowmick et al. 2018.) Values are vectors of ``features`` entries along the last axis, of which only the
    direction counts. Within the cap and outside all directions are equally likely. Outputs are divided by
    their mean cosine m, so that their mean is the true direction. ``share`` of epsilon is spent on p, the
    rest on the size of the cap; by default the share with the least variance. ``log_law`` is the log density
    of an output, relative to a direction drawn without regard to the value: it has one axis less.

    >>> round(Mechanism(epsilon=4.0, features=50).guarantee.epsilon, 9)
    4.0
    """

    features: int
    share: float | None = None
    calibrate: PrivUnitCalibration = PrivUnitCalibration.EXACT

    value_axes: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole("privunit", "features", self.features, 2)
        if self.share is not None and not 0 < self.share < 1:
            raise BadInput(f"privunit: share must be in (0, 1), got {self.share}; leave it out for the best")

    @property
    def log_odds(self) -> float:
        """Log odds of a direction in the cap."""
        return _best_split(self.epsilon, self.features, self.share, self.calibrate)[0]

    @property
    def cap(self) -> Cap:
        return _best_split(self.epsilon, self.features, self.share, self.calibrate)[1]

    @property
    def mean_cosine(self) -> float:
        """m: the mean of the cosine between a reported and the true direction."""
        return self.cap.mean_cosine(self.log_odds)

    @property
    def variance(self) -> float:
        """The mean squared distance of a report from the true direction."""
        return self.mean_cosine**-2 - 1

    @property
    def exact_epsilon(self) -> float:
        return self.log_odds - float(scipy.special.logit(self.cap.area))

    def report(self, values: Reals, rng: Generator) -> Reals:
        directions = self._directions(values)
        inside = rng.random(directions.shape[:-1]) < scipy.special.expit(self.log_odds)
        place, area, alpha = rng.random(inside.shape), self.cap.area, self.cap.alpha
        half = scipy.special.betaincinv(
            alpha, alpha, np.where(inside, area * place, area + (1 - area) * place)
        )
        across = rng.standard_normal(directions.shape)
        across -= (across * directions).sum(axis=-1, keepdims=True) * directions
        across /= np.linalg.norm(across, axis=-1, keepdims=True)
        along = np.asarray(half)[..., None]
        drawn = (1 - 2 * along) * directions + 2 * np.sqrt(along * (1 - along)) * across
        return np.asarray(drawn / self.mean_cosine)

    def report_log_law(self, outputs: Reals, values: Reals) -> Reals:
        directions = self._directions(values)
        lengths = np.linalg.norm(outputs, axis=-1) * self.mean_cosine
        possible = np.abs(lengths - 1) <= ON_SPHERE
        cosines = (outputs * directions).sum(axis=-1) * self.mean_cosine
        cap = self.cap
        inside = float(scipy.special.log_expit(self.log_odds)) - np.log(cap.area)
        outside = float(scipy.special.log_expit(-self.log_odds)) - np.log1p(-cap.area)
        return np.where(possible, np.where(cosines >= cap.cosine, inside, outside), -np.inf)

    def worst_cells(self) -> LossCells:
        """Opposite directions: their caps do not overlap, as long as each is at most half of all."""
        return [(TernaryCell(self.exact_epsilon, float(scipy.special.expit(self.log_odds))), 1)]

    def cells_between(self, low: Reals, high: Reals) -> LossCells:
        """A loss is zero where the two caps overlap, and outside both."""
        first, second = (self._directions(values).reshape(-1, self.features) for values in (low, high))
        cells: LossCells = []
        for cosine in (first * second).sum(axis=1).tolist():
            overlap = _overlap(self.cap, cosine)
            if overlap < 1:
                mass = float(scipy.special.expit(self.log_odds)) * (1 - overlap)
                cells.append((TernaryCell(self.exact_epsilon, mass), 1))
        return cells

    def epsilon_of_report(self, low: Reals, high: Reals) -> float:
        cosines = (self._directions(low) * self._directions(high)).sum(axis=-1)
        return self.exact_epsilon * int(np.sum(cosines < 1 - SAME))

    def _directions(self, values: Reals) -> Reals:
        vectors = np.asarray(values, dtype=np.float64)
        if vectors.ndim == 0 or vectors.shape[-1] != self.features:
            raise BadInput(
                f"privunit: takes vectors of features = {self.features} entries, got an array of shape "
                f"{vectors.shape}"
            )
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise BadInput(
                "privunit: a vector of zeros, or with an entry that is no number, has no direction; drop it"
            )
        return np.asarray(vectors / lengths)


@lru_cache(256)
def _best_split(
    epsilon: float, features: int, share: float | None, calibrate: PrivUnitCalibration
) -> tuple[float, Cap]:
    """Log odds of the cap, and the cap."""
    most = -float(scipy.special.logit(max(Cap(features, LEAST_HALF).area, LEAST_AREA)))

    def split(part: float) -> tuple[float, Cap]:
        for_cap = min((1 - part) * epsilon, most)
        exact = calibrate is PrivUnitCalibration.EXACT
        return epsilon - for_cap, (_exact_cap if exact else _paper_cap)(for_cap, features)

    def loss(part: float) -> float:
        odds, cap = split(part)
        return -cap.mean_cosine(odds)

    if share is not None:
        return split(share)
    found = scipy.optimize.minimize_scalar(
        loss, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-6}
    )
    return split(float(found.x))


def _exact_cap(epsilon: float, features: int) -> Cap:
    """The cap of which the rest of the sphere is e^epsilon times as large."""
    alpha = (features - 1) / 2
    return Cap(features, float(scipy.special.betaincinv(alpha, alpha, scipy.special.expit(-epsilon))))


def _paper_cap(epsilon: float, features: int) -> Cap:
    """The smaller cap of the two conditions (16a) and (16b) of Bhowmick et al. (2018)."""
    cosines = [float(np.tanh(epsilon / 2) * np.sqrt(np.pi / (2 * (features - 1))))]
    grid = np.linspace(np.sqrt(2 / features), 1, 20_001)[:-1]
    needed = (np.log(features) - (features - 1) * np.log1p(-(grid**2))) / 2 + np.log(6 * grid)
    cosines += grid[needed <= epsilon][-1:].tolist()
    return Cap(features, (1 - min(max(cosines), 1.0)) / 2)


@lru_cache(4096)
def _overlap(cap: Cap, cosine: float) -> float:
    """The share of one cap that lies in the other, for directions with this cosine; never too large."""
    cosine = min(max(cosine, -1.0), 1.0)
    if cosine >= 1 - SAME:
        return 1.0
    width, angle = 2 * np.arccos(cap.cosine), float(np.arccos(cosine))
    if width <= angle:
        return 0.0
    if cap.features == 2:
        return float((width - angle + max(0.0, width - (2 * np.pi - angle))) / width)
    sine, alpha, beside = np.sin(angle), cap.alpha, (cap.features - 2) / 2

    def also_in_other(place: float) -> float:
        along = 1 - 2 * float(scipy.special.betaincinv(alpha, alpha, cap.area * place))
        across = np.sqrt(max(1 - along**2, 0.0)) * sine
        least = np.clip((cap.cosine - along * cosine) / max(across, np.finfo(float).tiny), -1.0, 1.0)
        return float(scipy.special.betainc(beside, beside, (1 - least) / 2))

    share, error = scipy.integrate.quad(also_in_other, 0.0, 1.0, limit=200)
    return float(np.clip(share - error, 0.0, 1.0))
