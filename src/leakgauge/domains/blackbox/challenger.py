"""Releases by any callable: the input with the target, or the one without."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.random import Generator

from leakgauge.core.dice import refuse_own_dice
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Coins, Mechanism
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.seals import frozen
from leakgauge.domains.blackbox.box import Noise, Release, open_box
from leakgauge.domains.blackbox.digests import digest_of

PRIVATE = ("pair",)  # keys of a plan whose values may be data


@dataclass(frozen=True, eq=False)
class Challenger:
    """Calls a function on one of two neighbouring inputs; the target is what they differ by.

    ``function(dataset, rng)`` makes one release: a number, a truth value, a text, None, or a list, an array
    or a dict of these. ``pair`` holds the input without the target, then the one with it. ``sources`` are
    texts that say what is played, where it came from files.
    """

    function: Release
    pair: tuple[Any, Any]
    guarantee: Guarantee | None
    sources: tuple[str, ...] = ()

    n_targets = 1
    coins = Coins.FAIR

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadInput(f"release must be callable, got {type(self.function).__name__}")
        if not isinstance(self.pair, (tuple, list)) or len(self.pair) != 2:
            raise BadInput("pair must hold two inputs: the one without the target, then the one with it")
        object.__setattr__(self, "pair", tuple(map(frozen, self.pair)))

    @property
    def mechanism(self) -> Mechanism | None:
        """The named mechanism, if the release is one."""
        return self.function.mechanism if isinstance(self.function, Noise) else None

    @property
    def digest(self) -> str:
        """A name for what is played that is the same in every process."""
        return digest_of(self.function, self.pair, self.sources)

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, 1)) < 0.5

    def release(self, members: Bits, rng: Generator) -> list[Any]:
        return open_box(self.function, self.pair, members[:, 0], rng)


def build(
    *,
    data: dict[str, Any],
    challenger: dict[str, Any],
    mechanism: dict[str, Any],
    folder: Path,
    seed: int,  # noqa: ARG001 (nothing here is generated)
) -> Challenger:
    """Make the challenger that the tables of a plan describe."""
    from leakgauge.domains.blackbox.words import read_words

    if data:
        raise BadInput(f"data: a black box takes none, got {sorted(data)}; put its inputs in challenger.pair")
    words = read_words(challenger, mechanism, folder)
    refuse_own_dice(words.function, "challenger.release")
    return Challenger(words.function, words.pair, words.guarantee, words.sources)
