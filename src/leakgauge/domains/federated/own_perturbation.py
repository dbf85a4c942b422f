"""A perturbation of one's own: a function that clients call on their rows, and what is claimed of it."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.referee.ratio_calibration import ratio_calibration
from leakgauge.support.global_rng import refuse_own_generator, seeded_global_generators
from leakgauge.support.user_code import UserCodeLoader, error_with_location

PerturbRows: TypeAlias = Callable[[Reals, Generator], Any]
LogDensity: TypeAlias = Callable[[Reals, Reals], Any]

LAW_CHECK_LEVEL = 1e-6  # of refusing a distribution that does fit
CHECKED_ROWS = 2_000  # by which it is checked, or a few more: a multiple of a batch
_DRAWS = 500  # of one batch: noise that is the same in two values is then far beyond chance among all pairs
_MOST_ROWS, _MOST_VALUES = 32, 1_024  # of a batch, whose noise is compared


@dataclass(frozen=True, kw_only=True)
class OwnPerturbationTable:
    """Your own perturbation: a function of rows and a generator, and what it promises to a row.

    ``law`` names its noise distribution: a function of perturbed and true values, to the log density (or
    probability) of each. Without it the distribution is estimated from samples.
    """

    sample: str
    law: str | None = None
    epsilon: float | None = None
    delta: float = 0.0

    @property
    def stated(self) -> Guarantee | None:
        """The claim, if there is one."""
        if self.epsilon is None:
            if self.delta:
                raise BadInput(f"delta = {self.delta} needs an epsilon; add epsilon = ...")
            return None
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=Relation.REPLACE_ONE,
            unit=Unit.RECORD,
            nominal_epsilon=self.epsilon,
        )


@dataclass(frozen=True, eq=False)
class OwnPerturbation:
    """Calls ``function(rows, rng)`` on rows x features, and checks what it returns."""

    function: PerturbRows = field(repr=False)
    law: LogDensity | None = field(repr=False)
    stated: Guarantee | None
    sources: tuple[str, ...]  # for the digest

    @property
    def guarantee(self) -> Guarantee:
        """The claim; without one nothing is promised."""
        return self.stated or Guarantee(epsilon=np.inf, relation=Relation.REPLACE_ONE)

    def sample(self, values: Reals, rng: Generator) -> Reals:
        try:
            with seeded_global_generators(rng), redirect_stdout(sys.stderr):
                found = np.array(self.function(values.copy(), rng), dtype=np.float64)
        except (Exception, SystemExit) as error:
            raise BadInput(f"mechanism.sample raised {error_with_location(error)}") from error
        if found.shape != values.shape:
            raise BadInput(
                f"mechanism.sample: got rows of shape {values.shape} and returned {found.shape}; it must "
                "return as many rows and features"
            )
        if not np.isfinite(found).all():
            raise BadInput(
                "mechanism.sample: returned a number that is not finite; a client cannot train on it"
            )
        return found

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density of each perturbed value, by the stated distribution."""
        if self.law is None:
            raise BadInput("the noise distribution of your own perturbation is not known; set mechanism.law")
        try:
            law = np.asarray(self.law(outputs, values), dtype=np.float64)
        except (Exception, SystemExit) as error:
            raise BadInput(f"mechanism.law raised {error_with_location(error)}") from error
        if law.shape != outputs.shape or np.isnan(law).any() or np.isposinf(law).any():
            raise BadInput(
                f"mechanism.law: must return the log density of each of {outputs.size} values, -inf where "
                f"impossible; got an array of shape {law.shape}, or a number that is none"
            )
        return law

    def require_fit(self, rows: Reals, batch: int, rng: Generator) -> None:
        """Refuse a function that perturbs nothing like rows, and a distribution that its draws contradict.

        Each draw is of one of two rows, by a fair coin; one value of it is compared. The function gets a
        client's rows at once.
        """
        n_rows = -(-CHECKED_ROWS // batch) * batch
        pairs = rows[rng.integers(len(rows), size=(n_rows, 2))]
        coins = rng.random(n_rows) < 0.5
        batches = np.split(np.where(coins[:, None], pairs[:, 1], pairs[:, 0]), n_rows // batch)
        perturbed = np.concatenate([self.sample(one, rng) for one in batches])
        if self.law is None:
            return
        place = np.arange(n_rows), rng.integers(rows.shape[1], size=n_rows)
        with np.errstate(invalid="ignore"):
            ratios = self.log_law(perturbed, pairs[:, 1]) - self.log_law(perturbed, pairs[:, 0])
        test = ratio_calibration(ratios[place], coins)
        if test.p_value < LAW_CHECK_LEVEL:
            finding = test.finding.replace("with the target", "from the second of two rows")
            raise BadInput(
                f"mechanism.law: is not the distribution of mechanism.sample: {finding}; correct one of "
                "them, or leave law out"
            )

    def unread_noise(self, rows: Reals, batch: int, rng: Generator) -> tuple[str, ...]:
        """Name faults of the noise on one batch that attacks on single values or rows may miss."""
        one, other = rows[rng.integers(len(rows), size=(2, batch))]
        chosen, features = rng.permutation(batch)[:_MOST_ROWS], rng.permutation(one.shape[1])
        compared = np.ix_(chosen, features[: _MOST_VALUES // len(chosen)])
        first = self.sample(one, rng)
        same, drawn = first != self.sample(other, rng), []
        for _ in range(_DRAWS):
            draw = self.sample(one, rng)
            same &= draw == first
            drawn.append(draw[compared].ravel())
        exact = ["values of rows that come back without noise"] if same.any() else []
        alike = ["noise that is alike in two values of a batch"] if are_alike(np.array(drawn)) else []
        return (*exact, *alike)


def are_alike(drawn: Reals) -> bool:
    """Whether two columns, or their distances from the median, are large together too often or too rarely.

    If columns are independent, given how many values of each are above, how many rows have both is
    hypergeometric. Hoeffding's (1963) bound for it, over all pairs, is below ``LAW_CHECK_LEVEL``.
    """
    n, m = drawn.shape
    sizes = np.abs(drawn - np.median(drawn, axis=0))
    for values in (drawn, sizes):
        above = (values > np.median(values, axis=0)).astype(np.float64)
        share = above.mean(axis=0)
        rare = np.minimum(share, 1 - share)
        apart = np.triu(above.T @ above / n - np.outer(share, share), 1)
        exponent = 2 * n * apart**2 / np.maximum(np.minimum.outer(rare, rare), 1 / n)
        if exponent.max() > np.log(2 * m * (m - 1) / LAW_CHECK_LEVEL):
            return True
    return False


def load_own_perturbation(table: OwnPerturbationTable, folder: Path) -> OwnPerturbation:
    """Load the functions that a plan names."""
    loader = UserCodeLoader(folder)
    function = _load_function(loader, table.sample, "mechanism.sample")
    law = None if table.law is None else _load_function(loader, table.law, "mechanism.law")
    sources = tuple(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))
    return OwnPerturbation(function, law, table.stated, (*sources, f"{table.sample} {table.law}"))


def _load_function(loader: UserCodeLoader, reference: str, where: str) -> Any:
    function = loader.load(reference, where)
    if not callable(function):
        raise BadInput(
            f"{where}: {reference!r} is no function, but of type {type(function).__name__}; name a function"
        )
    refuse_own_generator(function, where)
    return function
