"""A figure of experiments: advantages and accuracies beside what the paper says of them, and charts."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.humphries23 import plans
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory.metric_bounds import humphries_advantage
from leakgauge.verdict import Verdict

METRICS = {
    plans.AVERAGE: "advantage_own",
    plans.OPTIMAL: "advantage_per_release",
    plans.SHADOW: "advantage_own",
    plans.BLIND: "advantage_own",
}
IN_SAMPLE, NULL = "advantage_in_sample", "advantage_in_sample_null"
PARTS = {"members": "members", "others": "non-members", "validation": "validation rows"}
OTHER_ROWS = "Simulated on generated rows: the files of the paper's data were not given (--data)."
WITHOUT = 10_000.0  # where training without noise stands on an axis of epsilons
COLOURS = {
    plans.AVERAGE: chart_style.SERIES[0],
    plans.OPTIMAL: chart_style.SERIES[1],
    plans.SHADOW: chart_style.SERIES[2],
}
IID_COLOURS = {
    plans.AVERAGE: chart_style.SERIES[6],
    plans.OPTIMAL: chart_style.SERIES[4],
    plans.SHADOW: chart_style.SERIES[5],
}
GRID = np.geomspace(0.01, 1000.0, 101)
ClaimsOfExperiment = Callable[
    [plans.Experiment, paper.Scope, plans.ExperimentVerdicts], list[comparison.ComparedNumber]
]
HIDDEN = (
    "This much noise also hides the group: at this ε the model has learned very little, and our threshold, "
    "which is not chosen on the counted records, does not benefit from chance."
)
_LOUD = 10.0  # the largest ε at which a difference may be explained by noise
FILES = (
    "adult.data, adult.test, compas-scores-two-years.csv, processed.*.data of heart disease, "
    "student-por.csv, census-income.data and dataset_location.tgz"
)


def advantage(verdict: Verdict) -> comparison.OurNumber:
    """TPR - FPR of an attack: at its own threshold, or at one for each model chosen on other records."""
    return metric_intervals.metric(verdict, METRICS[verdict.label])


def advantage_bound(epsilon: float | None) -> float:
    """The advantage that theorem III.1 allows where records are independent, if the nominal ε were true."""
    return 1.0 if epsilon is None else float(humphries_advantage(epsilon, plans.DELTA))


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
    experiment: plans.Experiment, scope: paper.Scope, what: str, game: plans.DependenceGame | None = None
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
    ours: comparison.OurNumber,
    published: comparison.PublishedNumber | None = None,
    why: str = "",
    *,
    real: bool = True,
) -> comparison.ComparedNumber:
    """A number beside a statement; ``why`` explains a difference; statements are about real rows."""
    if published is not None and not real:
        return comparison.ComparedNumber(
            setting=setting, ours=ours, published=published, other_data=True, why=OTHER_ROWS
        )
    cell = comparison.ComparedNumber(setting=setting, ours=ours, published=published)
    return replace(cell, why=why) if why and cell.verdict is comparison.Agreement.DIFFERS else cell


def worded_number(
    setting: str, ours: comparison.OurNumber, words: str, *, real: bool
) -> comparison.ComparedNumber:
    """A number beside words of the paper that have none: it is shown, and not compared."""
    return comparison.ComparedNumber(
        setting=setting, ours=ours, drawn=real, why=words if real else OTHER_ROWS
    )


def verdicts_of(experiment: plans.Experiment, played: paper.PlayedItem) -> plans.ExperimentVerdicts:
    """The games of an experiment."""
    return experiment.judged(played.scope.scale, played.verdicts)


def measured_numbers(
    experiment: plans.Experiment, played: paper.PlayedItem
) -> list[comparison.ComparedNumber]:
    """What every experiment has: advantages beside accuracies, and the in-sample optimum beside its null."""
    scope, cells = played.scope, []
    for game, verdicts in verdicts_of(experiment, played).items():
        for label, verdict in verdicts.items():
            setting = experiment_label(experiment, scope, f"advantage, {plans.ATTACK_NAMES[label]}", game)
            drawn = experiment.drawn and experiment.is_real(scope)
            cells.append(
                comparison.ComparedNumber(
                    setting=setting, ours=advantage(verdict), drawn=drawn, why=_right(verdicts)
                )
            )
        cells.append(_in_sample(experiment, scope, game, verdicts[plans.OPTIMAL]))
    if (blind := experiment.blind_verdict(played.verdicts)) is not None:
        cells.append(
            comparison.ComparedNumber(
                setting=experiment_label(experiment, scope, f"advantage, {plans.ATTACK_NAMES[plans.BLIND]}"),
                ours=advantage(blind),
                why="An attacker with rows of both kinds recognises the kind of a record without any model.",
            )
        )
    return cells


def model_accuracies(verdicts: plans.VerdictsByLabel) -> dict[str, float]:
    """How often the model is right about each part of the rows, on average over repeats."""
    utility = verdicts[plans.AVERAGE].utility or {}
    return {part: utility[part] for part in PARTS if part in utility}


def _right(verdicts: plans.VerdictsByLabel) -> str:
    """The accuracy of the model, as a sentence."""
    texts = [f"{right:.3f} of {PARTS[part]}" for part, right in model_accuracies(verdicts).items()]
    return f"The model is right about {', '.join(texts)}, on average over repeats." if texts else ""


def _in_sample(
    experiment: plans.Experiment, scope: paper.Scope, game: plans.DependenceGame, verdict: Verdict
) -> comparison.ComparedNumber:
    null = verdict.metrics[NULL].value
    return comparison.ComparedNumber(
        setting=experiment_label(experiment, scope, "advantage, in-sample optimum of the paper", game),
        ours=metric_intervals.metric(verdict, IN_SAMPLE),
        drawn=experiment.drawn and experiment.is_real(scope),
        why=f"Without any leak it would be {null:.4f} on average; the bound, if the nominal ε were true, is "
        f"{advantage_bound(game.epsilon):.4f}.",
    )


def epsilon_position(game: plans.DependenceGame) -> float:
    """Where a game stands on an axis of epsilons."""
    return WITHOUT if game.epsilon is None else game.epsilon


def advantage_chart(experiment: plans.Experiment, played: paper.PlayedItem) -> Chart:
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
            traces.append(dot_series(f"{plans.ATTACK_NAMES[label]}, {side}", points, colour))
    traces.append(bound_series())
    if (verdict := experiment.blind_verdict(played.verdicts)) is not None:
        ends = np.array([GRID[0], WITHOUT])
        traces.append(
            line_series(
                plans.ATTACK_NAMES[plans.BLIND],
                ends,
                np.full(2, advantage(verdict).value),
                Stroke.DOTTED,
                chart_style.CHANCE,
            )
        )
    texts = [
        f"{game.description}: {advantage(verdicts[plans.AVERAGE]).value:.3f} and "
        f"{advantage(verdicts[plans.OPTIMAL]).value:.3f}"
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


def accuracy_chart(experiment: plans.Experiment, played: paper.PlayedItem) -> Chart:
    """How often the model is right about members, non-members and validation rows."""
    games = verdicts_of(experiment, played)
    traces, texts = [], []
    for control, dark in ((False, 0), (True, 4)):
        side = "IID" if control else "non-IID"
        for number, (part, words) in enumerate(PARTS.items()):
            points = [
                (epsilon_position(game), comparison.exact_number(model_accuracies(verdicts)[part]))
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
    experiments: tuple[plans.Experiment, ...]
    statements: tuple[ClaimsOfExperiment, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def item(self) -> paper.PaperItem:
        return paper.PaperItem(
            title=self.title, about=self.about, audits=self.audits, show=self.show, notes=self.notes
        )

    def audits(self, scope: paper.Scope) -> list[paper.AuditTable]:
        """All experiments in one run."""
        return [audit for experiment in self.experiments for audit in experiment.audits(scope)]

    def show(self, played: paper.PlayedItem) -> paper.ItemResult:
        scope, cells, charts = played.scope, [], []
        for experiment in self.experiments:
            games = verdicts_of(experiment, played)
            if not games:
                continue
            cells += [cell for state in self.statements for cell in state(experiment, scope, games)]
            cells += measured_numbers(experiment, played)
            charts += [advantage_chart(experiment, played), accuracy_chart(experiment, played)]
        return paper.ItemResult(tuple(cells), tuple(charts), data_notes(scope, self.experiments))


def data_notes(scope: paper.Scope, experiments: tuple[plans.Experiment, ...]) -> tuple[str, ...]:
    """The data and repeats behind the figure."""
    counts = sorted({one.repeats[scope.scale] for one in experiments if one.games(scope.scale)})
    repeats = f"{' or '.join(map(str, counts))} repeats of split and training; the paper has 50."
    if all(experiment.is_real(scope) for experiment in experiments):
        return (repeats,)
    generated = (
        f"Simulated on {plans.GENERATED.description}, so nothing is compared with the paper. --data names "
        f"a folder with the published files: {FILES}."
    )
    return (repeats, generated)


def beats_control_claims(where: str | None = None) -> ClaimsOfExperiment:
    """That an attack does better where members have something in common; the paper says so at ``where``."""

    def state(
        experiment: plans.Experiment, scope: paper.Scope, games: plans.ExperimentVerdicts
    ) -> list[comparison.ComparedNumber]:
        cells = []
        for game, verdicts in games.items():
            control = games.get(plans.DependenceGame(game.experiment, game.epsilon, control=True))
            if game.control or control is None:
                continue
            apart = metric_intervals.difference(
                advantage(verdicts[plans.OPTIMAL]), advantage(control[plans.OPTIMAL])
            )
            what = "advantage, optimal threshold, non-IID minus IID"
            cells.append(
                claim_number(
                    f"{experiment_label(experiment, scope, what)}, {game.description.split(', ')[0]}",
                    apart,
                    None
                    if where is None
                    else comparison.PublishedNumber(value=0.0, where=where, claim=comparison.Claim.ABOVE),
                    HIDDEN if game.epsilon is not None and game.epsilon <= _LOUD else "",
                    real=experiment.is_real(scope),
                )
            )
        return cells

    return state


def advantage_claim(
    label: str,
    epsilon: float,
    published: comparison.PublishedNumber,
    *,
    of: str = "stated",
    why: str = "",
) -> ClaimsOfExperiment:
    """A statement about the advantage of one attack at one epsilon."""

    def state(
        experiment: plans.Experiment, scope: paper.Scope, games: plans.ExperimentVerdicts
    ) -> list[comparison.ComparedNumber]:
        game = plans.DependenceGame(experiment.name, epsilon)
        if label not in games.get(game, {}):
            return []
        setting = experiment_label(experiment, scope, f"{of}: advantage, {plans.ATTACK_NAMES[label]}", game)
        ours = advantage(games[game][label])
        return [claim_number(setting, ours, published, why, real=experiment.is_real(scope))]

    return state
