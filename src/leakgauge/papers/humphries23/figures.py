"""Figures in which members are of one group: what is shown of each, and what the paper says of all."""

from collections.abc import Callable
from dataclasses import dataclass

from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.humphries23.charts import accuracy_chart, advantage_chart
from leakgauge.papers.humphries23.experiments import GENERATED, Experiment, Game, Games
from leakgauge.papers.humphries23.judging import advantage, judged, plain_cells, played_games, said
from leakgauge.papers.humphries23.setting import NAMES, OPTIMAL
from leakgauge.papers.paper import Item, Played, Scope, Shown

Statements = Callable[[Experiment, Scope, Games], list[Cell]]
HIDDEN = (
    "So much noise hides the group too: at this ε the model has learned little of anything, and a threshold "
    "that is not chosen on the counted records gains nothing from chance."
)
_LOUD = 10.0  # the largest ε at which so much may be put down to noise
FILES = (
    "adult.data, adult.test, compas-scores-two-years.csv, processed.*.data of heart disease, "
    "student-por.csv, census-income.data and dataset_location.tgz"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Figure:
    """A figure: its experiments, and what the paper states of each."""

    title: str
    about: str
    experiments: tuple[Experiment, ...]
    statements: tuple[Statements, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def item(self) -> Item:
        return Item(title=self.title, about=self.about, plan=self.plan, show=self.show, notes=self.notes)

    def plan(self, scope: Scope) -> str:
        """All experiments in one run."""
        return "".join(experiment.plan(scope) for experiment in self.experiments)

    def show(self, played: Played) -> Shown:
        scope, cells, charts = played.scope, [], []
        for experiment in self.experiments:
            games = played_games(experiment, played)
            if not games:
                continue
            cells += [cell for state in self.statements for cell in state(experiment, scope, games)]
            cells += plain_cells(experiment, played)
            charts += [advantage_chart(experiment, played), accuracy_chart(experiment, played)]
        return Shown(tuple(cells), tuple(charts), data_notes(scope, self.experiments))


def data_notes(scope: Scope, experiments: tuple[Experiment, ...]) -> tuple[str, ...]:
    """What the figure rests on."""
    counts = sorted({one.repeats[scope.scale] for one in experiments if one.games(scope.scale)})
    repeats = f"{' or '.join(map(str, counts))} repeats of split and training; the paper has 50."
    if all(experiment.is_real(scope) for experiment in experiments):
        return (repeats,)
    generated = (
        f"Played on {GENERATED.words}, so that nothing is compared with the paper. --data names a folder "
        f"with the published files: {FILES}."
    )
    return (repeats, generated)


def beats_control(where: str | None = None) -> Statements:
    """That an attack does better where members have something in common; stated, if it is said ``where``."""

    def state(experiment: Experiment, scope: Scope, games: Games) -> list[Cell]:
        cells = []
        for game, verdicts in games.items():
            control = games.get(Game(game.experiment, game.epsilon, control=True))
            if game.control or control is None:
                continue
            apart = measured.difference(advantage(verdicts[OPTIMAL]), advantage(control[OPTIMAL]))
            what = "advantage, optimal threshold, non-IID less IID"
            cells.append(
                judged(
                    f"{said(experiment, scope, what)}, {game.words.split(', ')[0]}",
                    apart,
                    None if where is None else Published(value=0.0, where=where, says=Says.ABOVE),
                    HIDDEN if game.epsilon is not None and game.epsilon <= _LOUD else "",
                    real=experiment.is_real(scope),
                )
            )
        return cells

    return state


def stated(
    label: str, epsilon: float, published: Published, *, of: str = "stated", control: bool = False
) -> Statements:
    """A statement about the advantage of one attack at one epsilon."""

    def state(experiment: Experiment, scope: Scope, games: Games) -> list[Cell]:
        game = Game(experiment.name, epsilon, control)
        if label not in games.get(game, {}):
            return []
        setting = said(experiment, scope, f"{of}: advantage, {NAMES[label]}", game)
        return [judged(setting, advantage(games[game][label]), published, real=experiment.is_real(scope))]

    return state
