"""Clues: a mark or a measure of an output, and what it was learned to say about membership."""

from dataclasses import dataclass, field
from typing import Any

from leakgauge.core.game import Bits, Reals
from leakgauge.strategies.evidence import NumberCoder, Ratios, SymbolCoder, code_numbers, code_symbols, weigh
from leakgauge.strategies.outputs import Table


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads marks and measures off a table, each once."""

    table: Table
    _known: dict[Any, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def read(self, feature: Any) -> Any:
        """Return what a mark or a measure says, one entry per round."""
        if feature not in self._known:
            self._known[feature] = feature(self.table)
        return self._known[feature]


@dataclass(frozen=True)
class Clue:
    """A mark (``bins`` 0), or a measure whose values are sorted into so many bins."""

    feature: Any
    bins: int = 0


@dataclass(frozen=True, eq=False)
class Learned:
    """A clue after study."""

    feature: Any
    coder: NumberCoder | SymbolCoder
    ratios: Ratios

    def bold(self, reader: Reader) -> Reals:
        return self.ratios.bold[self.coder(reader.read(self.feature))]

    def cautious(self, reader: Reader) -> Reals:
        return self.ratios.cautious[self.coder(reader.read(self.feature))]


@dataclass(frozen=True, eq=False)
class Sample:
    """Shadows to learn from: their outputs, and in which of them the target was."""

    reader: Reader
    members: Bits
    _learned: dict[Clue, Learned] = field(default_factory=dict)

    def learn(self, clue: Clue) -> Learned:
        """Study one clue, once."""
        if clue not in self._learned:
            values = self.reader.read(clue.feature)
            coder = code_numbers(values, clue.bins) if clue.bins else code_symbols(values)
            self._learned[clue] = Learned(
                clue.feature, coder, weigh(coder(values), self.members, coder.n_codes)
            )
        return self._learned[clue]

    def worth(self, clue: Clue) -> float:
        """Say how much a clue tells in this sample."""
        return self.learn(clue).ratios.worth
