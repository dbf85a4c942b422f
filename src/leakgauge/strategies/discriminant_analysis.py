"""Linear and quadratic scores of columns of numbers, learned in closed form or by a few Newton steps."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Bits, Reals

_HUGE = 1e150  # and its square is still a number


@dataclass(frozen=True, eq=False)
class RobustScaler:
    """Brings columns to a common size; what is no finite number stands at the centre, and is marked."""

    centre: Reals
    size: Reals
    gaps: Bits  # which columns ever have no finite number; one more column each

    def __call__(self, columns: Reals) -> Reals:
        finite = np.isfinite(columns)
        scaled = (np.where(finite, np.clip(columns, -_HUGE, _HUGE), self.centre) - self.centre) / self.size
        return np.column_stack([np.clip(scaled, -1e6, 1e6), ~finite[:, self.gaps]])


def fit_scaler(columns: Reals) -> RobustScaler:
    """Learn centre and size of each column, by quantiles: a few wild values must not matter."""
    finite = np.isfinite(columns)
    kept = np.where(finite, np.clip(columns, -_HUGE, _HUGE), np.nan)
    empty = ~finite.any(axis=0)
    kept[:, empty] = 0.0
    low, centre, high = np.nanquantile(kept, (0.1, 0.5, 0.9), axis=0)
    size = np.where(high > low, high - low, np.nanmax(kept, axis=0) - np.nanmin(kept, axis=0))
    return RobustScaler(centre, np.where(size > 0, size, 1.0), np.asarray((~finite).any(axis=0)))


@dataclass(frozen=True, eq=False)
class LinearScore:
    """A straight score: zero says nothing."""

    weights: Reals
    offset: float

    def __call__(self, columns: Reals) -> Reals:
        return columns @ self.weights + self.offset


def fit_logistic(columns: Reals, members: Bits) -> LinearScore:
    """Fit a logistic regression with a small ridge by Newton's method, the worlds weighing the same."""
    inputs = np.column_stack([columns, np.ones(len(columns))])
    weight = np.where(members, 0.5 / max(1, members.sum()), 0.5 / max(1, (~members).sum())) * members.size
    ridge = np.append(np.full(columns.shape[1], 1.0), 1e-9)
    beta = np.zeros(inputs.shape[1])
    for _ in range(8):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ beta, -30, 30)))
        slope = inputs.T @ (weight * (members - chance)) - ridge * beta
        bend = (inputs * (weight * np.maximum(chance * (1 - chance), 1e-6))[:, None]).T @ inputs + np.diag(
            ridge
        )
        beta = beta + np.linalg.solve(bend, slope)
    return LinearScore(beta[:-1], float(beta[-1]))


def fit_fisher(columns: Reals, members: Bits) -> LinearScore:
    """Fisher's discriminant (1936): the direction in which the worlds differ most for their spread.

    Noise that cancels in some combination of columns leaves a direction of almost no spread; a ridge of
    1e-12 lets it be found.
    """
    with_target, without = columns[members], columns[~members]
    shift = with_target.mean(axis=0) - without.mean(axis=0)
    spread = (_covariance(with_target) + _covariance(without)) / 2
    weights = np.linalg.lstsq(spread + 1e-12 * np.eye(len(spread)), shift, rcond=None)[0]
    middle = (with_target.mean(axis=0) + without.mean(axis=0)) / 2
    return LinearScore(weights, -float(middle @ weights))


@dataclass(frozen=True, eq=False)
class QuadraticScore:
    """The log ratio of two normal laws."""

    centres: tuple[Reals, Reals]  # without, with the target
    precisions: tuple[Reals, Reals]
    offset: float

    def __call__(self, columns: Reals) -> Reals:
        far = [
            np.einsum("ij,jk,ik->i", columns - centre, precision, columns - centre)
            for centre, precision in zip(self.centres, self.precisions, strict=True)
        ]
        return (far[0] - far[1]) / 2 + self.offset


def fit_quadratic(columns: Reals, members: Bits) -> QuadraticScore:
    """Learn centre and spread of each world."""
    worlds = columns[~members], columns[members]
    spreads = [_covariance(world) + 1e-9 * np.eye(columns.shape[1]) for world in worlds]
    volumes = [float(np.linalg.slogdet(spread)[1]) for spread in spreads]
    return QuadraticScore(
        (worlds[0].mean(axis=0), worlds[1].mean(axis=0)),
        (np.asarray(np.linalg.inv(spreads[0])), np.asarray(np.linalg.inv(spreads[1]))),
        (volumes[0] - volumes[1]) / 2,
    )


def _covariance(rows: Reals) -> Reals:
    away = rows - rows.mean(axis=0)
    return away.T @ away / max(1, len(rows))
