"""A figure of experiments: advantages and accuracies beside what the paper says of them, and charts."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leakgauge.papers import metric_intervals
from leakgauge.papers.comparison import (
    Agreement,
    Claim,
    ComparedNumber,
    OurNumber,
    PublishedNumber,
    exact_number,
)
from leakgauge.papers.humphries23.plans import (
    ATTACK_NAMES,
    AVERAGE,
    BLIND,
    DELTA,
    GENERATED,
    OPTIMAL,
    SHADOW,
    DependenceGame,
    Experiment,
    ExperimentVerdicts,
    VerdictsByLabel,
)
from leakgauge.papers.paper import AuditTable, ItemResult, PaperItem, PlayedItem, Scope
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory.metric_bounds import humphries_advantage
from leakgauge.verdict import Verdict

METRICS = {
    AVERAGE: "advantage_own",
    OPTIMAL: "advantage_per_release",
    SHADOW: "advantage_own",
    BLIND: "advantage_own",
}
IN_SAMPLE, NULL = "advantage_in_sample", "advantage_in_sample_null"
PARTS = {"members": "members", "others": "non-members", "validation": "validation rows"}
OTHER_ROWS = "Simulated on generated rows: the files of the paper's data were not given (--data)."
WITHOUT = 10_000.0  # where training without noise stands on an axis of epsilons
COLOURS = {AVERAGE: chart_style.SERIES[0], OPTIMAL: chart_style.SERIES[1], SHADOW: chart_style.SERIES[2]}
IID_COLOURS = {AVERAGE: chart_style.SERIES[6], OPTIMAL: chart_style.SERIES[4], SHADOW: chart_style.SERIES[5]}
GRID = np.geomspace(0.01, 1000.0, 101)
ClaimsOfExperiment = Callable[[Experiment, Scope, ExperimentVerdicts], list[ComparedNumber]]
HIDDEN = (
    "This much noise also hides the group: at this ε the model has learned very little, and our threshold, "
    "which is not chosen on the counted records, does not benefit from chance."
)
_LOUD = 10.0  # the largest ε at which a difference may be explained by noise
FILES = (
    "adult.data, adult.test, compas-scores-two-years.csv, processed.*.data of heart disease, "
    "student-por.csv, census-income.data and dataset_location.tgz"
)


def advantage(verdict: Verdict) -> OurNumber:
    """TPR - FPR of an attack: at its own threshold, or at one for each model chosen on other records."""
    return metric_intervals.metric(verdict, METRICS[verdict.label])


def advantage_bound(epsilon: float | None) -> float:
    """The advantage that theorem III.1 allows where records are independent, if the nominal ε were true."""
    return 1.0 if epsilon is None else float(humphries_advantage(epsilon, DELTA))


def bound_series() -> ChartSeries:
    """The bound on the advantage for independent records, at every epsilon of the charts."""
    return line_series(
        "bound for independent records",
        GRID,
        np.vectorize(advantage_bound)(GRID),
        Stroke.DASHED,
        chart_style.INK,
    )


def experiment_label(
    experiment: Experiment, scope: Scope, what: str, game: DependenceGame | None = None
) -> str:
    """The setting of a cell."""
    words = (
        experiment.description
        if experiment.is_real(scope)
        else f"generated rows for {experiment.description}"
    )
    return f"{what}: {words}" + (f", {game.description}" if game is not None else "")


def claim_number(
    setting: str,
    ours: OurNumber,
    published: PublishedNumber | None = None,
    why: str = "",
    *,
    real: bool = True,
) -> ComparedNumber:
    """A number beside a statement; ``why`` explains a difference; statements are about real rows."""
    if published is not None and not real:
        return ComparedNumber(
            setting=setting, ours=ours, published=published, comparable=False, why=OTHER_ROWS
        )
    cell = ComparedNumber(setting=setting, ours=ours, published=published)
    return replace(cell, why=why) if why and cell.verdict is Agreement.DIFFERS else cell


def verdicts_of(experiment: Experiment, played: PlayedItem) -> ExperimentVerdicts:
    """The games of an experiment."""
    return experiment.judged(played.scope.scale, played.verdicts)


def measured_numbers(experiment: Experiment, played: PlayedItem) -> list[ComparedNumber]:
    """What every experiment has: advantages beside accuracies, and the in-sample optimum beside its null."""
    scope, cells = played.scope, []
    for game, verdicts in verdicts_of(experiment, played).items():
        for label, verdict in verdicts.items():
            setting = experiment_label(experiment, scope, f"advantage, {ATTACK_NAMES[label]}", game)
            drawn = experiment.drawn and experiment.is_real(scope)
            cells.append(
                ComparedNumber(setting=setting, ours=advantage(verdict), drawn=drawn, why=_right(verdicts))
            )
        cells.append(_in_sample(experiment, scope, game, verdicts[OPTIMAL]))
    if (blind := experiment.blind_verdict(played.verdicts)) is not None:
        cells.append(
            ComparedNumber(
                setting=experiment_label(experiment, scope, f"advantage, {ATTACK_NAMES[BLIND]}"),
                ours=advantage(blind),
                why="An attacker with rows of both kinds recognises the kind of a record without any model.",
            )
        )
    return cells


def model_accuracies(verdicts: VerdictsByLabel) -> dict[str, float]:
    """How often the model is right about each part of the rows, on average over repeats."""
    utility = verdicts[AVERAGE].utility or {}
    return {part: utility[part] for part in PARTS if part in utility}


def _right(verdicts: VerdictsByLabel) -> str:
    """The accuracy of the model, as a sentence."""
    texts = [f"{right:.3f} of {PARTS[part]}" for part, right in model_accuracies(verdicts).items()]
    return f"The model is right about {', '.join(texts)}, on average over repeats." if texts else ""


def _in_sample(
    experiment: Experiment, scope: Scope, game: DependenceGame, verdict: Verdict
) -> ComparedNumber:
    null = verdict.metrics[NULL].value
    return ComparedNumber(
        setting=experiment_label(experiment, scope, "advantage, in-sample optimum of the paper", game),
        ours=metric_intervals.metric(verdict, IN_SAMPLE),
        drawn=experiment.drawn and experiment.is_real(scope),
        why=f"Without any leak it would be {null:.4f} on average; the bound, if the nominal ε were true, is "
        f"{advantage_bound(game.epsilon):.4f}.",
    )


def epsilon_position(game: DependenceGame) -> float:
    """Where a game stands on an axis of epsilons."""
    return WITHOUT if game.epsilon is None else game.epsilon


def advantage_chart(experiment: Experiment, played: PlayedItem) -> Chart:
    """Every attack with and without what members have in common, and the bound for independent records."""
    games = verdicts_of(experiment, played)
    traces: list[ChartSeries] = []
    for control, colours in ((False, COLOURS), (True, IID_COLOURS)):
        side = "IID" if control else "non-IID"
        for label, colour in colours.items():
            points = [
                (epsilon_position(game), advantage(verdicts[label]))
                for game, verdicts in games.items()
                if game.control is control and label in verdicts
            ]
            traces.append(dot_series(f"{ATTACK_NAMES[label]}, {side}", points, colour))
    traces.append(bound_series())
    if (verdict := experiment.blind_verdict(played.verdicts)) is not None:
        ends = np.array([GRID[0], WITHOUT])
        traces.append(
            line_series(
                ATTACK_NAMES[BLIND],
                ends,
                np.full(2, advantage(verdict).value),
                Stroke.DOTTED,
                chart_style.CHANCE,
            )
        )
    texts = [
        f"{game.description}: {advantage(verdicts[AVERAGE]).value:.3f} and "
        f"{advantage(verdicts[OPTIMAL]).value:.3f}"
        for game, verdicts in games.items()
    ]
    return series_chart(
        f"{experiment.name}-advantage",
        traces,
        x_title="nominal ε (10,000 stands for training without noise)",
        y_title="advantage, TPR - FPR",
        caption=f"{experiment_label(experiment, played.scope, 'Advantage')}; 95 % intervals over repeats.",
        alternative=f"Advantage of the average and of the optimal threshold. {'; '.join(texts)}.",
        log=True,
    )


def accuracy_chart(experiment: Experiment, played: PlayedItem) -> Chart:
    """How often the model is right about members, non-members and validation rows."""
    games = verdicts_of(experiment, played)
    traces, texts = [], []
    for control, dark in ((False, 0), (True, 4)):
        side = "IID" if control else "non-IID"
        for number, (part, words) in enumerate(PARTS.items()):
            points = [
                (epsilon_position(game), exact_number(model_accuracies(verdicts)[part]))
                for game, verdicts in games.items()
                if game.control is control and part in model_accuracies(verdicts)
            ]
            traces.append(dot_series(f"{words}, {side}", points, chart_style.SERIES[dark + number]))
            texts += [f"{words}, {side}: {ours.value:.3f}" for _, ours in points]
    return series_chart(
        f"{experiment.name}-accuracy",
        traces,
        x_title="nominal ε (10,000 stands for training without noise)",
        y_title="accuracy of the model",
        caption=f"{experiment_label(experiment, played.scope, 'Accuracy')}; means over repeats.",
        alternative=f"Accuracy by nominal ε, in rising order: {'; '.join(texts)}.",
        log=True,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ExperimentFigure:
    """A figure: its experiments, and what the paper states of each."""

    title: str
    about: str
    experiments: tuple[Experiment, ...]
    statements: tuple[ClaimsOfExperiment, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def item(self) -> PaperItem:
        return PaperItem(
            title=self.title, about=self.about, audits=self.audits, show=self.show, notes=self.notes
        )

    def audits(self, scope: Scope) -> list[AuditTable]:
        """All experiments in one run."""
        return [audit for experiment in self.experiments for audit in experiment.audits(scope)]

    def show(self, played: PlayedItem) -> ItemResult:
        scope, cells, charts = played.scope, [], []
        for experiment in self.experiments:
            games = verdicts_of(experiment, played)
            if not games:
                continue
            cells += [cell for state in self.statements for cell in state(experiment, scope, games)]
            cells += measured_numbers(experiment, played)
            charts += [advantage_chart(experiment, played), accuracy_chart(experiment, played)]
        return ItemResult(tuple(cells), tuple(charts), data_notes(scope, self.experiments))


def data_notes(scope: Scope, experiments: tuple[Experiment, ...]) -> tuple[str, ...]:
    """The data and repeats behind the figure."""
    counts = sorted({one.repeats[scope.scale] for one in experiments if one.games(scope.scale)})
    repeats = f"{' or '.join(map(str, counts))} repeats of split and training; the paper has 50."
    if all(experiment.is_real(scope) for experiment in experiments):
        return (repeats,)
    generated = (
        f"Simulated on {GENERATED.description}, so nothing is compared with the paper. --data names a folder "
        f"with the published files: {FILES}."
    )
    return (repeats, generated)


def beats_control_claims(where: str | None = None) -> ClaimsOfExperiment:
    """That an attack does better where members have something in common; the paper says so at ``where``."""

    def state(experiment: Experiment, scope: Scope, games: ExperimentVerdicts) -> list[ComparedNumber]:
        cells = []
        for game, verdicts in games.items():
            control = games.get(DependenceGame(game.experiment, game.epsilon, control=True))
            if game.control or control is None:
                continue
            apart = metric_intervals.difference(advantage(verdicts[OPTIMAL]), advantage(control[OPTIMAL]))
            what = "advantage, optimal threshold, non-IID minus IID"
            cells.append(
                claim_number(
                    f"{experiment_label(experiment, scope, what)}, {game.description.split(', ')[0]}",
                    apart,
                    None if where is None else PublishedNumber(value=0.0, where=where, claim=Claim.ABOVE),
                    HIDDEN if game.epsilon is not None and game.epsilon <= _LOUD else "",
                    real=experiment.is_real(scope),
                )
            )
        return cells

    return state


def advantage_claim(
    label: str, epsilon: float, published: PublishedNumber, *, of: str = "stated", control: bool = False
) -> ClaimsOfExperiment:
    """A statement about the advantage of one attack at one epsilon."""

    def state(experiment: Experiment, scope: Scope, games: ExperimentVerdicts) -> list[ComparedNumber]:
        game = DependenceGame(experiment.name, epsilon, control)
        if label not in games.get(game, {}):
            return []
        setting = experiment_label(experiment, scope, f"{of}: advantage, {ATTACK_NAMES[label]}", game)
        return [
            claim_number(setting, advantage(games[game][label]), published, real=experiment.is_real(scope))
        ]

    return state
