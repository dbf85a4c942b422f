"""The plan of an item, played by the ordinary runner into a folder of its own."""

from dataclasses import dataclass
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.papers.paper import Item, Played, Scope
from leakgauge.plan import read_plan
from leakgauge.runner import atomic
from leakgauge.runner.run import Hands, carry_out


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Where and how items are played."""

    folder: Path
    scope: Scope
    seed: int
    hands: Hands

    def plan(self, name: str, item: Item) -> str:
        """Write the plan of an item, in memory; empty where nothing is to be played."""
        try:
            return f"seed = {self.seed}\n{item.plan(self.scope)}" if item.plan else ""
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None

    def play(self, name: str, plan: str) -> Played:
        """Play what is missing of a plan: ``plans/<item>-<scale>.toml`` into ``runs/<item>-<scale>``."""
        if not plan:
            return Played(scope=self.scope)
        place = f"{name}-{self.scope.scale}"
        path = self.folder / "plans" / f"{place}.toml"
        atomic.write(path, plan.encode())
        verdicts = carry_out(read_plan(path), self.folder / "runs" / place, self.hands)
        return Played(scope=self.scope, verdicts=tuple(verdicts), plan=plan)
