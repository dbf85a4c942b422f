"""Local hashing: a random hash function, and randomized response on the hash of the value (OLH, BLH)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import name_of
from leakgauge.mechanisms._local_reports import CategoryReports, LossCells
from leakgauge.mechanisms._validation import require_whole
from leakgauge.theory.privacy_loss import TernaryCell

PRIME = 2**31 - 1
MOST_BUCKETS = 2**20  # by default; more change nothing that can be noticed
FIELDS = 3  # of an output


@dataclass(frozen=True, kw_only=True)
class Mechanism(CategoryReports):
    """Hash the category to one of a few ``buckets``, and release the bucket with odds of e^epsilon.

    (Bassily and Smith 2015; Wang et al. 2017.) By default there are e^epsilon + 1 buckets, rounded: optimal
    local hashing, OLH. With 2 buckets it is binary local hashing, BLH. Values are numbers of categories, 0 to
    ``categories`` - 1. An output has one axis more: the two numbers a and b of the hash function, and the
    bucket. The function is ((a value + b) mod prime) mod buckets with a from 1 and b from 0 to ``prime`` - 1,
    drawn anew for every report (Carter and Wegman 1979). ``log_law`` is the log probability of all three.

    >>> Mechanism(epsilon=1.0, categories=1000).n_buckets
    4
    """

    buckets: int | None = None
    prime: int = PRIME

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(name_of(self), "buckets", self.n_buckets, 2)
        if not _is_prime(self.prime) or self.prime > PRIME:
            raise BadInput(f"local_hashing: prime must be a prime number up to {PRIME}, got {self.prime}")
        if max(self.categories, self.n_buckets) > self.prime:
            raise BadInput(
                f"local_hashing: prime = {self.prime} must be at least categories = {self.categories} and "
                f"buckets = {self.n_buckets}; leave it out"
            )

    @property
    def n_buckets(self) -> int:
        """The number of buckets in use."""
        if self.buckets is not None:
            return self.buckets
        optimal = np.exp(min(self.epsilon, np.log(MOST_BUCKETS)))
        return int(min(round(float(optimal)) + 1, MOST_BUCKETS, self.prime))

    @property
    def exact_epsilon(self) -> float:
        truth, lie = self._log_probabilities()
        return truth - lie

    @property
    def collision(self) -> float:
        """How often two categories have the same bucket, over all hash functions: exact.

        a value + b takes two different values to every pair of different remainders equally often.
        """
        per_bucket, more = divmod(self.prime, self.n_buckets)
        same = more * (per_bucket + 1) * per_bucket + (self.n_buckets - more) * per_bucket * (per_bucket - 1)
        return same / (self.prime * (self.prime - 1))

    @property
    def support_true(self) -> float:
        return float(np.exp(self._log_probabilities()[0]))

    @property
    def support_other(self) -> float:
        truth, lie = np.exp(self._log_probabilities())
        return float(self.collision * truth + (1 - self.collision) * lie)

    def supported(self, outputs: Reals) -> Reals:
        hashed = self._hash(outputs[..., None, :], np.arange(self.categories))
        return (hashed == outputs[..., None, 2]).astype(np.float64)

    def report(self, values: Reals, rng: Generator) -> Reals:
        self.require_categories(values)
        outputs = np.empty((*values.shape, FIELDS))
        outputs[..., 0] = rng.integers(1, self.prime, size=values.shape)
        outputs[..., 1] = rng.integers(0, self.prime, size=values.shape)
        lies = rng.random(values.shape) >= self.support_true
        moves = lies * rng.integers(1, self.n_buckets, size=values.shape)
        outputs[..., 2] = (self._hash(outputs, values) + moves) % self.n_buckets
        return outputs

    def report_log_law(self, outputs: Reals, values: Reals) -> Reals:
        self.require_categories(values)
        if outputs.ndim == 0 or outputs.shape[-1] != FIELDS:
            raise BadInput(
                f"local_hashing: an output is {FIELDS} numbers (a, b, bucket), got an array of shape "
                f"{outputs.shape}"
            )
        first, last = np.array([1, 0, 0]), np.array([self.prime, self.prime, self.n_buckets])
        possible = ((outputs == np.floor(outputs)) & (outputs >= first) & (outputs < last)).all(axis=-1)
        truth, lie = self._log_probabilities()
        seen = np.where(possible[..., None], outputs, first)
        law = np.where(self._hash(seen, values) == seen[..., 2], truth, lie)
        return np.where(possible, law - np.log(self.prime) - np.log(self.prime - 1), -np.inf)

    def worst_cells(self) -> LossCells:
        return [(TernaryCell(self.exact_epsilon, (1 - self.collision) * self.support_true), 1)]

    def _hash(self, outputs: Reals, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        a, b = (outputs[..., i].astype(np.int64) for i in (0, 1))
        return (a * np.asarray(values).astype(np.int64) + b) % self.prime % self.n_buckets

    def _log_probabilities(self) -> tuple[float, float]:
        """The log probability of the true bucket, and of each other one."""
        total = float(np.logaddexp(self.epsilon, np.log(self.n_buckets - 1)))
        return self.epsilon - total, -total


@lru_cache(64)
def _is_prime(number: int) -> bool:
    if number != int(number) or number < 2:
        return False
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))
