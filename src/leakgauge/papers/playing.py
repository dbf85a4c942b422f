"""The plans of an item, played by the ordinary runner, each into a folder of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.papers.paper import Item, Played, Scope
from leakgauge.plan import read_plan
from leakgauge.runner import atomic
from leakgauge.runner.run import Hands, carry_out
from leakgauge.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Where and how items are played; what several items share is played and judged once."""

    folder: Path
    scope: Scope
    seed: int
    hands: Hands
    _judged: dict[tuple[str, str], tuple[Verdict, ...]] = field(default_factory=dict, compare=False)

    def plans(self, name: str, item: Item) -> dict[str, str]:
        """Write the plans of an item, in memory, by the names of their runs."""
        try:
            return {
                run.name: f"seed = {self.seed + run.further}\n{plan}"
                for run in item.runs(name)
                if (plan := run.plan(self.scope))
            }
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None

    def play(self, plans: Mapping[str, str]) -> Played:
        """Play what is missing: ``plans/<run>-<scale>.toml`` into ``runs/<run>-<scale>``."""
        verdicts = [verdict for name, plan in plans.items() for verdict in self._verdicts(name, plan)]
        return Played(scope=self.scope, verdicts=tuple(verdicts), plans=dict(plans))

    def _verdicts(self, name: str, plan: str) -> tuple[Verdict, ...]:
        if (name, plan) not in self._judged:
            place = f"{name}-{self.scope.scale}"
            path = self.folder / "plans" / f"{place}.toml"
            atomic.write(path, plan.encode())
            found = carry_out(read_plan(path), self.folder / "runs" / place, self.hands)
            self._judged[name, plan] = tuple(found)
        return self._judged[name, plan]
