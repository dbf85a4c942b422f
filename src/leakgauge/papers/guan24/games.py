"""The games of Guan et al. (2024): plans of them, and their verdicts by place, release and player."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from leakgauge.papers.guan24.places import Place
from leakgauge.papers.guan24.setting import CONFIDENCE, LEAST_VISITS, ROUNDS, TARGETS, Player, Release
from leakgauge.papers.paper import Scale, Scope
from leakgauge.verdict import Verdict

AUDIT = """
[[audit]]
name = "{name}"
domain = "locations"
rounds = {rounds}
block = {block}
data = {data}
challenger = {{ group_size = {group}, relation = "replace_one", reference = {reference}, \
per_day = {per_day}, targets = {{ n = {targets}, min_visits = {least} }} }}
mechanism = {mechanism}
metrics = {{ confidence = {confidence} }}
attacks = [
{attacks}
]
"""
CDR_TARGETS, CDR_ROUNDS = 2, 100  # at a quick look
ELSEWHERE_TARGETS = 2  # at a quick look: four weeks have four times the cells to learn from
RAW_TARGETS = 8  # at a quick look: without noise there is less to learn, and it is soon learned


@dataclass(frozen=True, kw_only=True)
class Game:
    """One audit: a release somewhere, and those who attack it."""

    place: Place
    release: Release
    players: Sequence[Player]
    least: int = LEAST_VISITS

    @property
    def name(self) -> str:
        return audit_name(self.place, self.release, self.least)

    def plan(self, scale: Scale) -> str:
        """Write the audit."""
        targets, rounds = TARGETS[scale], ROUNDS[scale]
        if scale is Scale.QUICK and self.place.stands_for == "CDR":
            targets, rounds = CDR_TARGETS, CDR_ROUNDS
        elif scale is Scale.QUICK and self.place.weeks > 1:
            targets = ELSEWHERE_TARGETS
        elif scale is Scale.QUICK and self.release.epsilon is None:
            targets = RAW_TARGETS
        return AUDIT.format(
            name=self.name,
            rounds=rounds,
            block=-(-rounds // 2) if scale is Scale.QUICK else 100,
            data=self.place.data.table,
            group=self.release.m or self.place.group,
            reference=self.place.reference,
            per_day=self.place.per_day,
            targets=targets,
            least=self.least,
            mechanism=self.release.played_as(self.place.per_day).plan,
            confidence=CONFIDENCE,
            attacks="\n".join(player.plan for player in self.players),
        )


def audit_name(place: Place, release: Release, least: int = LEAST_VISITS) -> str:
    """How the audit of a release is called; the same release in another run is the same one."""
    active = "" if least == LEAST_VISITS else f",least={least}"
    return f"{place.name}@{release.played_as(place.per_day).name}{active}"


def write_games(scope: Scope, games: Iterable[Game]) -> str:
    """Write a plan."""
    return "".join(game.plan(scope.scale) for game in games)


Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Board:
    """Verdicts by audit and player."""

    verdicts: Mapping[Key, Verdict]

    def at(self, place: Place, release: Release, player: Player, least: int = LEAST_VISITS) -> Verdict | None:
        """What came of a game, if it was played."""
        return self.verdicts.get((audit_name(place, release, least), player.label))


def board(verdicts: Iterable[Verdict]) -> Board:
    """Sort verdicts."""
    return Board({(verdict.audit, verdict.label): verdict for verdict in verdicts})
