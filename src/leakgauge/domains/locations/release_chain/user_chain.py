"""A release pipeline written by the user: true counts in, published counts out."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.support.global_rng import seeded_global_generators

UserPipeline: TypeAlias = Callable[[Any, Generator], Any]
UserLogProbability: TypeAlias = Callable[[Reals, Reals], Reals]


@dataclass(frozen=True, eq=False)
class UserReleaseChain:
    """Calls ``release(counts, rng)`` once per round, with a table of places x epochs; checks the answer.

    ``law(outputs, counts)``, where it is given, is the log probability (or density) of single outputs;
    ``whole`` says whether they are whole numbers.
    """

    release: UserPipeline
    n_places: int
    n_epochs: int
    law: UserLogProbability | None = None
    whole: bool = True

    def sample(self, counts: Any, rng: Generator) -> Reals:
        """Publish every row of counts, each over all cells."""
        rows = np.asarray(counts, dtype=np.float64).reshape(-1, self.n_places, self.n_epochs)
        published = np.empty_like(rows)
        with seeded_global_generators(rng), redirect_stdout(sys.stderr):
            for i, row in enumerate(rows):
                published[i] = self._publish(row, rng)
        return published.reshape(np.shape(counts))

    def require_use_of_counts(self, group_size: int) -> None:
        """Refuse a pipeline that publishes the same for an empty table and for one full of people."""
        tables = (np.full((1, self.n_places * self.n_epochs), float(n)) for n in (0, group_size))
        empty, full = (self.sample(table, np.random.default_rng(0)) for table in tables)
        if np.array_equal(empty, full):
            raise BadInput(
                f"mechanism.release: publishes the same if every count is 0 and if every count is "
                f"{group_size}: it ignores its counts, or suppresses all of them; check it"
            )

    def log_law(self, outputs: Reals, counts: Reals) -> Reals:
        if self.law is None:
            raise BadInput(
                "the noise distribution of your own pipeline is not known; set mechanism.law, or let the "
                "attack estimate it"
            )
        seen, true = np.broadcast_arrays(
            np.asarray(outputs, dtype=np.float64), np.asarray(counts, dtype=np.float64)
        )
        law = np.asarray(self.law(seen, true), dtype=np.float64)
        if law.shape != seen.shape or np.isnan(law).any():
            raise BadInput(
                f"mechanism.law: must return the log probability of each of {seen.size} outputs, -inf where "
                f"impossible; got {law.size} numbers, {int(np.isnan(law).sum())} of them not a number"
            )
        return law

    def _publish(self, row: Reals, rng: Generator) -> Reals:
        try:
            published = np.asarray(self.release(row.copy(), rng), dtype=np.float64)
        except (Exception, SystemExit) as error:
            text = " ".join(str(error).split()) or "(no message)"
            raise BadInput(f"mechanism.release raised {type(error).__name__}: {text}") from error
        if published.shape != row.shape:
            raise BadInput(
                f"mechanism.release: got {row.shape[0]} x {row.shape[1]} counts and returned "
                f"{published.shape}; it must return as many"
            )
        if not np.isfinite(published).all():
            raise BadInput(
                "mechanism.release: returned a number that is not finite; publish 0 for what is suppressed"
            )
        return published
