"""What the answers of an oracle have cost: obtained about each target, and believed by accountants."""

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.accounting import accountant, names
from leakgauge.domains.queries.asked import Asked


class Ledger:
    """Fresh answers, and the worlds that got them; a world is who of the targets is in the table.

    An answer that is given again costs nothing and is not written down.
    """

    def __init__(self, worlds: Bits, epsilon: float) -> None:
        self._worlds, self._epsilon = worlds, epsilon
        self._lines: list[tuple[Asked, Bits]] = []

    def add(self, asked: Asked, answered: Bits) -> None:
        """Write down a question, and the worlds in which it got a fresh answer."""
        self._lines.append((asked, answered))

    @property
    def obtained(self) -> Reals:
        """Worlds x targets: epsilon of the answers whose queries contain a target, all added up."""
        n_answers = np.zeros(self._worlds.shape)
        for asked, answered in self._lines:
            n_answers += np.outer(answered, asked.targets)
        return self._epsilon * n_answers

    @property
    def believed(self) -> dict[str, Reals]:
        """What each accountant would say that the answers of each world have cost, by its name."""
        return {name: self._epsilon * self._recount(name) for name in names()}

    def _recount(self, name: str) -> Reals:
        account = accountant(name)(self._worlds)
        for asked, answered in self._lines:
            account.add(asked, answered)
        return account.spent.astype(np.float64)
