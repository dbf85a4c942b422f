"""Other data to play on: what of it there is, how large groups can be, and how full its cells are."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from leakgauge.domains.locations import challenger
from leakgauge.papers import data_sets
from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.liu24.games import FEW, KNOWLEDGES, NETWORK, Games, Player, series, write_audit
from leakgauge.papers.liu24.networks import read_text
from leakgauge.papers.liu24.places import CITY, GRID
from leakgauge.papers.liu24.setting import SIXTY
from leakgauge.papers.paper import Scale, Scope
from leakgauge.plan import Audit, Plan
from leakgauge.verdict import Verdict

RULES = ("one_threshold", "two_threshold", "likelihood")
CELLS = (20, SIXTY, 140)
TIMES = {Scale.QUICK: 2, Scale.FULL: 10}
ROUNDS = {Scale.QUICK: 10_000, Scale.FULL: 50_000}
HOURS_800 = ("2012-04-09", "2012-05-12T08:00:00")
THREE_WEEKS = ("2008-05-19", "2008-06-09")


@dataclass(frozen=True)
class Place:
    """A data set, and how large a group its people allow."""

    data: DataSet
    group: int


def places(scope: Scope) -> list[Place]:
    """The synthetic city, and what the folder of the data sets has."""
    found = [
        (CITY, 2_000),
        (data_sets.kuala_lumpur(scope, HOURS_800), 830),
        (data_sets.new_york(scope, GRID, HOURS_800), 240),
        (data_sets.cabs(scope, GRID, THREE_WEEKS), 130),
    ]
    return [Place(data, group) for data, group in found if data is not None]


def _players() -> list[Player]:
    rules = [Player(attack=rule, knowledge=who, n=n) for n in CELLS for who in KNOWLEDGES for rule in RULES]
    networks = [Player(attack=NETWORK, knowledge=who, n=SIXTY, shadows=FEW) for who in KNOWLEDGES]
    return [*rules, *networks]


def _plan(scope: Scope, name: str) -> str:
    return "".join(
        write_audit(
            f"{name}-{place.data.name}",
            scope,
            "laplace",
            _players(),
            data=place.data,
            group=place.group,
            rounds=ROUNDS[scope.scale],
        )
        for place in places(scope)
    )


SERIES = series("elsewhere", TIMES, _plan)


def games_at(verdicts: Iterable[Verdict], place: Place) -> Games:
    """What was played on one data set."""
    return SERIES.games(verdict for verdict in verdicts if _name(verdict.audit) == place.data.name)


def _name(audit: str) -> str:
    """The data set of an audit."""
    return audit.partition("-")[2]


def usual_others(plans: Iterable[str]) -> dict[str, float]:
    """How many others are usual in the cells of the targets, by data set."""
    counts: dict[str, list[float]] = {}
    for plan in map(read_text, plans):
        for audit in plan.audits:
            counts.setdefault(_name(audit.name), []).append(_usual_in(plan, audit))
    return {name: float(np.mean(found)) for name, found in counts.items()}


def _usual_in(plan: Plan, audit: Audit) -> float:
    game = challenger.build(
        data=audit.data,
        challenger=audit.challenger,
        mechanism=audit.mechanism,
        folder=plan.folder,
        seed=plan.seed,
    )
    pool = game.traces.of(game.people.pool)
    cells = game.traces.cells(int(game.people.targets[0]))
    share = float(pool.visitors()[cells].mean() / pool.n_people)
    return share * (game.setting.group_size - 1)
