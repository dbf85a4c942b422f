"""Figures 5 and 11: success under BitRand and under OME, and how useful the perturbed rows are."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from leakgauge.domains.federated.clients.utility import ClassifierUtility
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.nguyen23 import data, plans, server
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke
from leakgauge.verdict import Verdict

NEURON_NAMES = {
    plans.LIKELIHOOD: "likelihood neuron",
    plans.CLIPPED: "with two hinges a feature",
    plans.TRAINED: "trained neuron",
}
COLOURS = {
    plans.LIKELIHOOD: chart_style.SERIES[0],
    plans.CLIPPED: chart_style.SERIES[4],
    plans.TRAINED: chart_style.SERIES[1],
}
SIGN_ALONE = (
    "Two hinges give one slope: at small ε it depends on little but the sign bit, which is constant for "
    "features that are never negative."
)
OUR_NEURON = "Built from the noise distribution, not trained."


def success_chart(
    series: plans.MechanismGames,
    scope: paper.Scope,
    column: data.DataColumn,
    form: data.FeatureForm,
    games: plans.VerdictsByGame,
    useful: Mapping[plans.NominalGame, ClassifierUtility],
) -> Chart:
    """Success in one column and form, and the accuracy of an honest classifier on the same rows."""
    mine = [point for point in games if point.column is column and point.form is form]
    places = np.array([float(point.epsilon) for point in mine])
    traces: list[ChartSeries] = []
    for label, colour in COLOURS.items():
        points = [
            (float(p.epsilon), metric_intervals.accuracy(games[p][label])) for p in mine if label in games[p]
        ]
        traces.append(dot_series(f"success, {NEURON_NAMES[label]}", points, colour))
    for rate, stroke in (("tpr", Stroke.DASHED), ("tnr", Stroke.DOTTED)):
        values = np.array([metric_intervals.metric(games[p][plans.LIKELIHOOD], rate).value for p in mine])
        traces.append(
            line_series(
                f"{rate.upper()}, likelihood neuron", places, values, stroke, COLOURS[plans.LIKELIHOOD]
            )
        )
    right = np.array([useful[point].noisy for point in mine])
    clean = np.array([useful[point].clean for point in mine])
    traces += [
        line_series("honest classifier, right answers", places, right, Stroke.LINE, chart_style.SERIES[2]),
        line_series("the same without noise", places, clean, Stroke.DASHED, chart_style.SERIES[2]),
        line_series("guessing", places, np.full(places.size, 0.5), Stroke.DOTTED, chart_style.CHANCE),
    ]
    most = mine[-1]
    return series_chart(
        f"{series.mechanism}-{column.name}-{form}".replace("_", "-"),
        traces,
        x_title="nominal ε",
        y_title="share",
        caption=f"{column.description(scope, form)}, batches of {column.batch}: games won, and right "
        "answers of "
        f"an honest classifier.",
        alternative=f"At nominal ε = {most.epsilon} the likelihood neuron wins "
        f"{metric_intervals.accuracy(games[most][plans.LIKELIHOOD]).value:.3f} of games, and an honest "
        f"classifier is right {useful[most].noisy:.3f} of the time, {useful[most].clean:.3f} without noise.",
    )


def _show(series: plans.MechanismGames, played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    games = series.games(scope.scale, played.verdicts)
    useful = {
        point: server.audit_setup(played.plans.values(), point.name(series.mechanism)).utility()
        for point in games
    }
    cells = [
        cell
        for point, verdicts in games.items()
        for cell in (
            *_won(series, scope, point, verdicts),
            *_rates(series, scope, point, verdicts),
            *_apart(scope, point, verdicts),
            _useful(scope, point, useful[point]),
        )
    ]
    charts = [
        success_chart(series, scope, column, form, games, useful)
        for column in data.COLUMNS
        for form in data.FeatureForm
        if any(point.column is column and point.form is form for point in games)
    ]
    return paper.ItemResult(tuple(cells), tuple(charts), (data.data_note(scope),))


def _won(
    series: plans.MechanismGames,
    scope: paper.Scope,
    point: plans.NominalGame,
    verdicts: Mapping[str, Verdict],
) -> list[comparison.ComparedNumber]:
    """Success of each neuron; the published statements are about one that was trained."""
    exact, cells = plans.exact_epsilon_of(verdicts), []
    for label, verdict in verdicts.items():
        stated = series.stated(point.column, point.epsilon)
        setting = f"success, {NEURON_NAMES[label]}: {point.description(scope, exact)}"
        ours = metric_intervals.accuracy(verdict)
        if label == plans.TRAINED:
            cells.append(data.success_number(setting, ours, stated))
        else:
            why = SIGN_ALONE if label == plans.CLIPPED else OUR_NEURON
            said = (
                ""
                if stated is None
                else f" The paper says of a trained neuron: {stated.written}, {stated.where}."
            )
            cells.append(comparison.ComparedNumber(setting=setting, ours=ours, why=f"{why}{said}"))
    return cells


def _rates(
    series: plans.MechanismGames,
    scope: paper.Scope,
    point: plans.NominalGame,
    verdicts: Mapping[str, Verdict],
) -> list[comparison.ComparedNumber]:
    """The rates of the likelihood neuron, and those of the trained one, which the paper is about."""
    cells = []
    for label in (plans.LIKELIHOOD, plans.TRAINED):
        if label not in verdicts:
            continue
        here = f"{NEURON_NAMES[label]}: {point.description(scope)}"
        tpr, tnr = (metric_intervals.metric(verdicts[label], rate) for rate in ("tpr", "tnr"))
        stated = data.tnr_claim(point.column, point.epsilon) if series is plans.BITRAND else None
        paper_has_it = label == plans.TRAINED
        cells += [
            comparison.ComparedNumber(setting=f"TPR, {here}", ours=tpr, drawn=paper_has_it),
            data.claim_number(f"TNR, {here}", tnr, stated, data.BUGS)
            if paper_has_it and stated is not None
            else comparison.ComparedNumber(setting=f"TNR, {here}", ours=tnr, drawn=paper_has_it),
        ]
    return cells


def _apart(
    scope: paper.Scope, point: plans.NominalGame, verdicts: Mapping[str, Verdict]
) -> list[comparison.ComparedNumber]:
    """The lead of the neuron that needs no training."""
    if plans.TRAINED not in verdicts:
        return []
    ahead = metric_intervals.difference(
        metric_intervals.accuracy(verdicts[plans.LIKELIHOOD]),
        metric_intervals.accuracy(verdicts[plans.TRAINED]),
    )
    return [
        comparison.ComparedNumber(
            setting=f"success, likelihood minus trained neuron: {point.description(scope)}", ours=ahead
        )
    ]


def _useful(
    scope: paper.Scope, point: plans.NominalGame, useful: ClassifierUtility
) -> comparison.ComparedNumber:
    return comparison.ComparedNumber(
        setting=f"right answers of an honest classifier of perturbed rows: {point.description(scope)}",
        ours=comparison.exact_number(useful.noisy),
        why=f"Tested on clean rows {useful.on_clean:.3f}; without any noise {useful.clean:.3f}.",
    )


def _item(series: plans.MechanismGames, title: str, about: str, notes: tuple[str, ...]) -> paper.PaperItem:
    return paper.PaperItem(
        title=title, about=about, shared_runs=(series.run,), show=partial(_show, series), notes=notes
    )


FIGURE_5 = _item(
    plans.BITRAND,
    "Figure 5: success under BitRand",
    "Clients perturb every bit of every feature with BitRand at nominal ε of 1 to 10, and answer a crafted "
    "model with a real gradient; the server wins a game if the chosen neuron's gradient is exactly zero if "
    "and only if the target is not in the batch. We add a neuron that is built from the noise distribution "
    "instead of trained; an honest classifier shows how useful the perturbed rows are.",
    (
        (
            "The exact ε of a row is the sum over all bits of the most that one bit can reveal; it never "
            "equals the nominal one. For 512 features it is 2,207, 5,350, 9,239 and 20,038 at nominal 1, "
            "3, 5 and 10."
        ),
        (
            "Intervals are over rounds, for these targets. The trained neuron is that of the paper, the "
            "likelihood neuron is ours. At --scale quick the trained neuron is simulated on non-negative "
            "features only, as the paper's are."
        ),
    ),
)
FIGURE_11 = _item(
    plans.OME,
    "Figure 11: success under OME",
    "The same under OME in the variant of the paper, alpha = 100. Whatever the nominal ε, bits at odd "
    "places are erased and the others mostly kept.",
    (
        (
            "The exact ε is 35,342 for 512 features at any nominal ε from 1 to 10: this is why the published "
            "curves are flat."
        ),
        "At --scale quick two nominal ε are simulated, and the trained neuron on non-negative features.",
    ),
)
