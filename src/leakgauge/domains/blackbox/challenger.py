"""The challenger of a black box, which calls a release on one of two neighbouring inputs."""

import inspect
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits
from leakgauge.core.errors import BadInput
from leakgauge.core.game import ChallengerDefaults, Coins, Mechanism, NoControl
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.blackbox.input_dependence import unread_of_output, value_texts, why_input_is_ignored
from leakgauge.domains.blackbox.own_law import LogProbability, MarkedLaw, require_fit
from leakgauge.domains.blackbox.release import MechanismRelease, ReleaseFunction, run_release
from leakgauge.mechanisms import laplace
from leakgauge.mechanisms._additive import is_additive
from leakgauge.support.global_rng import refuse_own_generator
from leakgauge.support.mutation_guard import read_only

LAW_CHECK = 0  # a block of the data stream
NOISE_SCALES = 20.0  # between the two worlds where noise is made too small to hide anything


@dataclass(frozen=True, eq=False)
class MarkedInput:
    """One of the two inputs, marked with its side: with the target or without."""

    value: Any
    member: bool


@dataclass(frozen=True, eq=False)
class MarkedRelease:
    """Calls a release on a marked input, and adds the mark to its output.

    The mark travels with the input: if the call is given the wrong input, the output has the wrong mark.
    """

    function: ReleaseFunction

    def __call__(self, given: MarkedInput, rng: Generator) -> tuple[Any, bool]:
        return self.function(given.value, rng), given.member


def require_difference(pair: tuple[Any, Any]) -> None:
    """Refuse two equal inputs: no release could tell one from the other."""
    if len(pair) == 2 and list(value_texts(pair[0])) == list(value_texts(pair[1])):
        raise BadInput(
            "pair: both inputs are the same, so no release can depend on the target; give the input without "
            "the target, then the one with it"
        )


def mark_inputs(pair: tuple[Any, Any]) -> tuple[MarkedInput, MarkedInput]:
    """Mark the input without the target and the one with it."""
    return MarkedInput(pair[0], False), MarkedInput(pair[1], True)


def faint_noise(mechanism: Mechanism, pair: tuple[Any, Any]) -> MechanismRelease:
    """The true values with noise that is far smaller than any difference between the two inputs.

    Attacks that know the noise distribution need one, so it is not left out. Mechanisms that do not add
    noise to each value, such as one that releases the largest of them, release all values here.
    """
    low, high = (np.asarray(values, dtype=np.float64) for values in pair)
    moved = np.abs(high - low)
    scale = float(moved[moved > 0].min()) / NOISE_SCALES
    if is_additive(mechanism):
        return MechanismRelease(mechanism.scaled_to(mechanism.sensitivity, scale))
    return MechanismRelease(laplace.Mechanism(scale=scale))


def release_digest(function: Any, pair: tuple[Any, Any], sources: tuple[str, ...]) -> str:
    """Hash the pair and the sources; without sources, the source text or the name of the function."""
    texts = sources or (function_source(function),)
    hashed = sha256()
    for text in (*texts, *value_texts(pair)):
        encoded = text.encode(errors="surrogatepass")
        hashed.update(f"{len(encoded)}:".encode() + encoded)
    return hashed.hexdigest()


def function_source(function: Any) -> str:
    """Return the text of a function, or its name where there is no text."""
    if isinstance(function, MechanismRelease):
        return repr(function.mechanism)
    try:
        return inspect.getsource(function)
    except (OSError, TypeError, SyntaxError, TokenError):  # the last two: its file holds other code by now
        kind = function if hasattr(function, "__qualname__") else type(function)
        return f"{kind.__module__}.{kind.__qualname__}"


@dataclass(frozen=True, eq=False)
class Challenger(ChallengerDefaults):
    """Calls a function on one of two neighbouring inputs, which differ by the target.

    ``function(dataset, rng)`` returns one release: a number, a Boolean, a text, None, or a list, an array or
    a dict of these. ``pair`` holds the input without the target, then the one with it. ``sources`` are
    the source texts of the function, if it was loaded from files. ``law(output, dataset)`` is the log
    probability of an output, if the function comes with its noise distribution.
    """

    function: ReleaseFunction
    pair: tuple[Any, Any]
    guarantee: Guarantee | None
    sources: tuple[str, ...] = ()
    law: LogProbability | None = None

    n_targets = 1
    coins = Coins.FAIR

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadInput(f"release must be callable, got {type(self.function).__name__}")
        if not isinstance(self.pair, (tuple, list)) or len(self.pair) != 2:
            raise BadInput("pair must hold two inputs: the one without the target, then the one with it")
        object.__setattr__(self, "pair", tuple(map(read_only, self.pair)))

    @property
    def mechanism(self) -> Mechanism | None:
        """The named mechanism, if the release is one."""
        return self.function.mechanism if isinstance(self.function, MechanismRelease) else None

    @property
    def digest(self) -> str:
        """A hash of function and pair that is the same in every process."""
        return release_digest(self.function, self.pair, self.sources)

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, 1)) < 0.5

    def release(self, members: Bits, rng: Generator) -> list[Any]:
        return run_release(self.function, self.pair, members[:, 0], rng)

    @cached_property
    def _ignores_input(self) -> str | None:
        """Why no round could show anything: the output does not depend on the input, as far as calls show."""
        return why_input_is_ignored(self.function, self.pair)

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Of a function, what tells the inputs apart beside the numbers of its output."""
        return () if self.mechanism is not None else unread_of_output(self.function, self.pair)

    def control(self) -> "Challenger | NoControl":
        """A function shows the bit beside its output; a named mechanism has too little noise to hide it."""
        without, with_target = (tuple(value_texts(given)) for given in self.pair)
        if without == with_target:
            return NoControl(
                reason="both inputs are the same, so the output is distributed alike with the target and "
                "without it, and every attack is right in exactly half of the rounds",
                needed=False,
            )
        if self.mechanism is None and self._ignores_input is not None:
            return NoControl(reason=self._ignores_input, nothing_to_audit=True)
        if self.mechanism is not None:
            release = faint_noise(self.mechanism, self.pair)
            name = f"control: {type(release.mechanism).__module__}"
            return Challenger(release, self.pair, None, (name,))
        return Challenger(
            MarkedRelease(self.function),
            mark_inputs(self.pair),
            None,
            (f"control: {self.digest}",),
            None if self.law is None else MarkedLaw(self.law),
        )


def build(
    *,
    data: dict[str, Any],
    challenger: dict[str, Any],
    mechanism: dict[str, Any],
    folder: Path,
    seed: int,
) -> Challenger:
    """Build the challenger that the tables of a plan describe."""
    from leakgauge.domains.blackbox.plan_tables import read_plan_tables

    if data:
        raise BadInput(f"data: a black box takes none, got {sorted(data)}; put its inputs in challenger.pair")
    setup = read_plan_tables(challenger, mechanism, folder)
    require_difference(setup.pair)
    refuse_own_generator(setup.function, "challenger.release")
    if setup.law is not None:
        require_fit(setup.function, setup.law, setup.pair, stream(seed, Role.DATA, LAW_CHECK))
    return Challenger(setup.function, setup.pair, setup.guarantee, setup.sources, setup.law)
