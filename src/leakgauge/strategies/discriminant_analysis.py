"""Linear and quadratic scores of numeric columns, fitted in closed form or by a few Newton steps."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Bits, Reals

_HUGE = 1e150  # its square is still finite


@dataclass(frozen=True, eq=False)
class RobustScaler:
    """Scales columns to a common size; values that are not finite are set to the centre and flagged."""

    centre: Reals
    size: Reals
    flagged: Bits  # columns with values that are not finite; each gets one flag column

    def __call__(self, columns: Reals) -> Reals:
        finite = np.isfinite(columns)
        scaled = (np.where(finite, np.clip(columns, -_HUGE, _HUGE), self.centre) - self.centre) / self.size
        return np.column_stack([np.clip(scaled, -1e6, 1e6), ~finite[:, self.flagged]])


def fit_scaler(columns: Reals) -> RobustScaler:
    """Estimate centre and size of each column by quantiles, which a few outliers do not move."""
    finite = np.isfinite(columns)
    kept = np.where(finite, np.clip(columns, -_HUGE, _HUGE), np.nan)
    empty = ~finite.any(axis=0)
    kept[:, empty] = 0.0
    low, centre, high = np.nanquantile(kept, (0.1, 0.5, 0.9), axis=0)
    size = np.where(high > low, high - low, np.nanmax(kept, axis=0) - np.nanmin(kept, axis=0))
    return RobustScaler(centre, np.where(size > 0, size, 1.0), np.asarray((~finite).any(axis=0)))


@dataclass(frozen=True, eq=False)
class LinearScore:
    """A linear score; zero is no evidence for either world."""

    weights: Reals
    offset: float

    def __call__(self, columns: Reals) -> Reals:
        return columns @ self.weights + self.offset


def fit_logistic(columns: Reals, members: Bits) -> LinearScore:
    """Fit a logistic regression with a small ridge by Newton's method; both worlds have equal weight."""
    inputs = np.column_stack([columns, np.ones(len(columns))])
    weight = np.where(members, 0.5 / max(1, members.sum()), 0.5 / max(1, (~members).sum())) * members.size
    ridge = np.append(np.full(columns.shape[1], 1.0), 1e-9)
    beta = np.zeros(inputs.shape[1])
    for _ in range(8):
        probability = 1 / (1 + np.exp(-np.clip(inputs @ beta, -30, 30)))
        gradient = inputs.T @ (weight * (members - probability)) - ridge * beta
        hessian = (
            inputs * (weight * np.maximum(probability * (1 - probability), 1e-6))[:, None]
        ).T @ inputs + np.diag(ridge)
        beta = beta + np.linalg.solve(hessian, gradient)
    return LinearScore(beta[:-1], float(beta[-1]))


def fit_fisher(columns: Reals, members: Bits) -> LinearScore:
    """Fisher's discriminant (1936): the direction with the largest difference relative to the spread.

    Noise that cancels in some combination of columns leaves a direction of almost no spread; a ridge of
    1e-12 is small enough to keep it.
    """
    with_target, without = columns[members], columns[~members]
    shift = with_target.mean(axis=0) - without.mean(axis=0)
    spread = (_covariance(with_target) + _covariance(without)) / 2
    weights = np.linalg.lstsq(spread + 1e-12 * np.eye(len(spread)), shift, rcond=None)[0]
    middle = (with_target.mean(axis=0) + without.mean(axis=0)) / 2
    return LinearScore(weights, -float(middle @ weights))


@dataclass(frozen=True, eq=False)
class QuadraticScore:
    """The log-likelihood ratio of two normal distributions."""

    centres: tuple[Reals, Reals]  # without, with the target
    precisions: tuple[Reals, Reals]
    offset: float

    def __call__(self, columns: Reals) -> Reals:
        distances = [
            np.einsum("ij,jk,ik->i", columns - centre, precision, columns - centre)
            for centre, precision in zip(self.centres, self.precisions, strict=True)
        ]
        return (distances[0] - distances[1]) / 2 + self.offset


def fit_quadratic(columns: Reals, members: Bits) -> QuadraticScore:
    """Estimate mean and covariance of each world."""
    worlds = columns[~members], columns[members]
    spreads = [_covariance(world) + 1e-9 * np.eye(columns.shape[1]) for world in worlds]
    log_determinants = [float(np.linalg.slogdet(spread)[1]) for spread in spreads]
    return QuadraticScore(
        (worlds[0].mean(axis=0), worlds[1].mean(axis=0)),
        (np.asarray(np.linalg.inv(spreads[0])), np.asarray(np.linalg.inv(spreads[1]))),
        (log_determinants[0] - log_determinants[1]) / 2,
    )


def _covariance(rows: Reals) -> Reals:
    centred = rows - rows.mean(axis=0)
    return centred.T @ centred / max(1, len(rows))
