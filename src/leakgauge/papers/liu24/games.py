"""The games behind figures 1 and 12 to 27: plans of them, and their verdicts by who played."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.liu24.places import main_place
from leakgauge.papers.liu24.setting import CONFIDENCE, MECHANISMS, NOISES, SIXTY
from leakgauge.papers.paper import Run, Scale, Scope
from leakgauge.verdict import Verdict

INFORMED, AUXILIARY = KNOWLEDGES = ("informed", "auxiliary")
RULES = ("one_threshold", "two_threshold", "likelihood", "reference")
NETWORK = "shadow_mlp"
FEW, MANY = 2_000, 200_000  # shadows
HUNDRED = 100  # hidden units of earlier work
GRID = {Scale.QUICK: (1, 5, 20, 60, 140), Scale.FULL: (1, 2, 5, 10, 20, 40, 60, 80, 100, 120, 140)}
LARGE_GRID = {Scale.QUICK: (20, SIXTY), Scale.FULL: GRID[Scale.FULL]}  # where networks learn from many
ROUNDS = {Scale.QUICK: 25_000, Scale.FULL: 50_000}
TIMES = {Scale.QUICK: 2, Scale.FULL: 10}  # each with a target and a split of its own
LARGE_TIMES = {Scale.QUICK: 1, Scale.FULL: 10}
AUDIT = """
[[audit]]
name = "{name}"
domain = "locations"
rounds = {rounds}
block = 2500
data = {data}
challenger = {{ group_size = {group}, per_epoch = 1, reference = {reference}, targets = {{ n = 1, \
min_visits = 140 }} }}
mechanism = {mechanism}
metrics = {{ confidence = {confidence} }}
attacks = [
{attacks}
]
"""


@dataclass(frozen=True, kw_only=True)
class Player:
    """An attack, what it knows, and how many cells of the target it looks at.

    Networks have as many hidden units as cells, unless ``hidden`` says otherwise.
    """

    attack: str
    knowledge: str
    n: int
    shadows: int | None = None
    hidden: int | None = None

    @classmethod
    def of(cls, verdict: Verdict) -> "Player":
        """Who a verdict is about."""
        said = verdict.parameters["attack"]
        return cls(
            attack=verdict.attack,
            knowledge=verdict.knowledge,
            n=int(verdict.parameters["knowledge"]["observations"]),
            shadows=said.get("shadows"),
            hidden=said.get("hidden"),
        )

    @property
    def words(self) -> str:
        """The line of a plan."""
        fit = '"never"' if self.attack == "likelihood" else None  # only the target's cells are looked at
        said = {"shadows": self.shadows, "hidden": self.hidden, "fit": fit}
        more = "".join(f", {key} = {value}" for key, value in said.items() if value is not None)
        knowledge = f'{{ name = "{self.knowledge}", observations = {self.n} }}'
        parts = (self.attack, self.shadows, self.hidden, self.knowledge, self.n)
        label = "-".join(str(part) for part in parts if part is not None)
        return f'  {{ name = "{self.attack}"{more}, knowledge = {knowledge}, label = "{label}" }},'


Games: TypeAlias = Mapping[Player, tuple[Verdict, ...]]


@dataclass(frozen=True, eq=False)
class Series:
    """The same game several times, each with a target, a split and groups of its own."""

    name: str
    runs: tuple[Run, ...]

    def games(self, verdicts: Iterable[Verdict]) -> Games:
        """The verdicts of these runs among others, by who played."""
        found: dict[Player, tuple[Verdict, ...]] = {}
        for verdict in verdicts:
            if verdict.audit.partition("-")[0].rpartition("_")[0] == self.name:
                player = Player.of(verdict)
                found[player] = (*found.get(player, ()), verdict)
        return found


def series(name: str, times: Mapping[Scale, int], plan: Callable[[Scope, str], str]) -> Series:
    """Make the runs of a series; ``plan`` writes one of them, given how its audits are to be called."""

    def write(number: int, scope: Scope) -> str:
        return plan(scope, f"{name}_{number}") if number < times[scope.scale] else ""

    most = max(times.values())
    return Series(
        name,
        tuple(
            Run(name=f"{name}_{number}", plan=partial(write, number), further=number)
            for number in range(most)
        ),
    )


def write_audit(
    name: str,
    scope: Scope,
    noise: str,
    players: Sequence[Player],
    *,
    data: DataSet | None = None,
    group: int = 2_000,
    rounds: int | None = None,
) -> str:
    """Write a game: a group drawn from half of the people; on the main data set unless another is given."""
    return AUDIT.format(
        name=name,
        rounds=rounds or ROUNDS[scope.scale],
        data=(data or main_place(scope)).table,
        group=group,
        reference=0.5,
        mechanism=MECHANISMS[noise],
        confidence=CONFIDENCE,
        attacks="\n".join(player.words for player in players),
    )


def many_shadows(noise: str, scale: Scale, hidden: int | None = None) -> int:
    """How many shadows stand for "200k": where a quick look can do without them, a tenth."""
    needed = scale is Scale.FULL or (noise == "laplace" and hidden is None)
    return MANY if needed else MANY // 10


def _usual(noise: str, scope: Scope, name: str) -> str:
    """Every attack, with networks that learn from few shadows."""
    players = {n: _players(n, [FEW]) for n in GRID[scope.scale]}
    if noise == "laplace":  # for figure 1
        for n, found in players.items():
            found.append(Player(attack=NETWORK, knowledge=INFORMED, n=n, shadows=FEW, hidden=HUNDRED))
    return _audits(name, scope, noise, players)


def _large(noise: str, scope: Scope, name: str) -> str:
    """Every attack, with networks that learn from few shadows and from many."""
    shadows = [FEW, many_shadows(noise, scope.scale)]
    return _audits(name, scope, noise, {n: _players(n, shadows) for n in LARGE_GRID[scope.scale]})


def _hundred(scope: Scope, name: str) -> str:
    """Networks with a hundred hidden units."""
    shadows = [FEW, many_shadows("laplace", scope.scale, HUNDRED)]
    return _audits(name, scope, "laplace", {SIXTY: _players(SIXTY, shadows, HUNDRED)})


def _audits(name: str, scope: Scope, noise: str, players: Mapping[int, Sequence[Player]]) -> str:
    """One audit or, where it takes long, one for each number of cells: what is done is kept."""
    if scope.scale is Scale.QUICK:
        return write_audit(name, scope, noise, [player for some in players.values() for player in some])
    return "".join(write_audit(f"{name}-{n}", scope, noise, some) for n, some in players.items())


def _players(n: int, shadows: Sequence[int], hidden: int | None = None) -> list[Player]:
    return [
        Player(attack=attack, knowledge=knowledge, n=n, shadows=number, hidden=hidden if number else None)
        for knowledge in KNOWLEDGES
        for attack, number in (*((rule, None) for rule in RULES), *((NETWORK, number) for number in shadows))
    ]


USUAL = {noise: series(noise, TIMES, partial(_usual, noise)) for noise in NOISES}
LARGE = {noise: series(f"{noise}_large", LARGE_TIMES, partial(_large, noise)) for noise in NOISES}
HUNDRED_UNITS = series("hundred", LARGE_TIMES, _hundred)
