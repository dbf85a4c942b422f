"""Call a release once per round on one of two inputs, and check that it leaves its inputs unchanged."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.domains.blackbox.plain_output import plain_output
from leakgauge.support.global_rng import seeded_global_generators
from leakgauge.support.mutation_guard import MutationGuard
from leakgauge.support.user_code import error_with_location

ReleaseFunction: TypeAlias = Callable[[Any, Generator], Any]


@dataclass(frozen=True, eq=False)
class MechanismRelease:
    """A named mechanism as a release; its inputs are the true values."""

    mechanism: Mechanism

    def __call__(self, values: Reals, rng: Generator) -> Any:
        return self.mechanism.sample(np.asarray(values, dtype=np.float64), rng)


def run_release(function: ReleaseFunction, pair: tuple[Any, Any], members: Bits, rng: Generator) -> list[Any]:
    """Return the output of the release in each round, as plain values; ``members`` selects the input."""
    if isinstance(function, MechanismRelease):
        return _sample_mechanism(function.mechanism, pair, members, rng)
    guards = [MutationGuard(given) for given in pair]
    outputs: list[Any] = []
    # Keep the release's own prints out of our standard output.
    with seeded_global_generators(rng), redirect_stdout(sys.stderr):
        for member in members.tolist():
            try:
                output = function(pair[member], rng)
            except (Exception, SystemExit) as error:
                raise _release_error(error, len(outputs), member) from error
            # A release may return the same object again with changed contents.
            outputs.append(plain_output(output))
    for guard, which in zip(guards, ("without", "with"), strict=True):
        if guard.broken:
            raise BadInput(
                f"release changed its input, the one {which} the target; it must leave it as it is: "
                "work on a copy (copy.deepcopy)"
            )
    return outputs


def _sample_mechanism(
    mechanism: Mechanism, pair: tuple[Any, Any], members: Bits, rng: Generator
) -> list[Any]:
    low, high = (np.asarray(values, dtype=np.float64) for values in pair)
    chosen = np.where(members.reshape(-1, *(1,) * low.ndim), high, low)
    return list(mechanism.sample(chosen, rng))


def _release_error(error: BaseException, number: int, member: bool) -> BadInput:
    where = f"in round {number} of its block, for the input {'with' if member else 'without'} the target"
    if isinstance(error, ValueError) and "read-only" in str(error):
        return BadInput(
            f"release tried to change its input {where}: {error_with_location(error)}; work on a copy "
            "(copy.deepcopy)"
        )
    hint = "; import it at the top of the module" if isinstance(error, ModuleNotFoundError) else ""
    if isinstance(error, TypeError) and "positional argument" in str(error):
        hint = "; it is called with an input and a random generator: def release(data, rng)"
    return BadInput(f"release raised {error_with_location(error)} {where}{hint}")
