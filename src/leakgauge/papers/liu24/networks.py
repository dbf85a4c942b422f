"""The networks that played, trained once more: every random number of their study comes from the plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np

from leakgauge.catalog import prepare
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.attacks.shadow_mlp import Trained
from leakgauge.domains.locations.rules.by_cells import ByCells
from leakgauge.papers.liu24.games import Player, Series
from leakgauge.plan import Audit, Plan, read_plan
from leakgauge.runner.threads import one_thread
from leakgauge.strategies.rule_index import RuleIndex


@dataclass(frozen=True, eq=False)
class Weights:
    """A network's weights for cells as they are published, and which rule it learned.

    Unit j says sigmoid(cells @ inner[:, j] + bias[j]). Units stand in the order of the cells they are matched
    with; units without a cell come last. Each is turned so that it speaks for the target.
    """

    inner: Reals  # cells x units
    bias: Reals
    index: RuleIndex

    @property
    def diagonal(self) -> Reals:
        return np.diagonal(self.inner)

    @property
    def contrast(self) -> float:
        """How much larger weights are on the diagonal than beside it, on average."""
        size = np.abs(self.inner)
        on = float(np.diagonal(size).mean())
        beside = (size.sum() - np.diagonal(size).sum()) / (size.size - min(size.shape))
        return float(on / beside)


def weights_of(plans: Mapping[str, str], series: Series, player: Player) -> Weights:
    """Train the network of a player again, as in the first run of a series."""
    plan = read_text(plans[series.runs[0].name])
    audit = _first_with(plan, player)
    game = prepare(audit, plan)
    (label,) = game.attacks
    with one_thread():
        scorer = game.attacks[label].study(game.knowledges[label], stream(plan.seed, Role.STUDY))
    trained = cast(Trained, cast(ByCells, scorer.score).watches[0].rule)
    learned = trained.learned
    network = learned.network
    raw = network.inner / learned.size[:, None]
    bias = network.inner_bias - (learned.centre / learned.size) @ network.inner
    return Weights(*_ordered(raw, bias, np.sign(network.outer)), trained.index)


def _ordered(inner: Reals, bias: Reals, signs: Reals) -> tuple[Reals, Reals]:
    """Match cells and units so that the diagonal holds the most, and turn every unit to the target."""
    from scipy.optimize import linear_sum_assignment

    _, matched = linear_sum_assignment(np.abs(inner), maximize=True)
    order = np.concatenate([matched, np.setdiff1d(np.arange(inner.shape[1]), matched)])
    turned = np.where(signs < 0, -1.0, 1.0)
    return (inner * turned)[:, order], (bias * turned)[order]


def read_text(text: str) -> Plan:
    """Read a plan that was kept as text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        path.write_text(text, encoding="utf-8")
        return read_plan(path)


def _first_with(plan: Plan, player: Player) -> Audit:
    for audit in plan.audits:
        for contender in audit.contenders:
            if f'label = "{contender.label}"' in player.words:
                return replace(audit, contenders=(contender,))
    raise BadInput(f"nobody like {player} played in this plan")
