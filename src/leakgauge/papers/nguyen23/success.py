"""Figures 5 and 11: games won under BitRand and under OME, and what rows are still good for."""

from collections.abc import Mapping
from functools import partial

from leakgauge.domains.federated.utility import Utility
from leakgauge.pages.numbers import count
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, exactly
from leakgauge.papers.nguyen23.columns import COLUMNS, FACES, Form, data_note
from leakgauge.papers.nguyen23.games import BITRAND, OME, Point, Series, exact_epsilon
from leakgauge.papers.nguyen23.servers import stage
from leakgauge.papers.nguyen23.setting import CLIPPED, LIKELIHOOD, TRAINED
from leakgauge.papers.nguyen23.statements import BUGS, judged, tnr
from leakgauge.papers.nguyen23.success_chart import NAMES, success_chart
from leakgauge.papers.paper import Item, Played, Scope, Shown
from leakgauge.verdict import Verdict

SIGN_ALONE = (
    "Two hinges draw one slope: at small ε that sees little but the sign bit, which says nothing of features "
    "that are never negative."
)
SAME_PERSON = (
    "There are ten pictures of each person: another one of the target's may be in the batch, and the "
    "adversary has fewer than 200 pictures to learn from."
)
TOO_FEW_HINGES = (
    "What the perturbed features tell is more than a neuron with so few hinges keeps: see the item hinges."
)


def _show(series: Series, played: Played) -> Shown:
    scope = played.scope
    games = series.games(scope.scale, played.verdicts)
    useful = {point: stage(played.plans.values(), point.name(series.mechanism)).utility() for point in games}
    cells = [
        cell
        for point, verdicts in games.items()
        for cell in (
            *_won(series, scope, point, verdicts),
            *_rates(series, scope, point, verdicts[LIKELIHOOD]),
            *_apart(scope, point, verdicts),
            _useful(scope, point, useful[point]),
        )
    ]
    charts = [
        success_chart(series, scope, column, form, games, useful)
        for column in COLUMNS
        for form in Form
        if any(point.column is column and point.form is form for point in games)
    ]
    return Shown(tuple(cells), tuple(charts), (data_note(scope),))


def said(scope: Scope, point: Point, exact: float | None = None) -> str:
    """A point in words; with the exact epsilon, where it is given."""
    true = "" if exact is None else f" (exact: {count(round(exact))})"
    return f"{point.column.words(scope, point.form)}, ε = {point.epsilon}{true}"


def _won(series: Series, scope: Scope, point: Point, verdicts: Mapping[str, Verdict]) -> list[Cell]:
    """Success of each neuron; the published statements are about one that was trained."""
    exact, cells = exact_epsilon(verdicts), []
    for label, verdict in verdicts.items():
        stated = None if label == CLIPPED else series.stated(point.column, point.epsilon)
        why = {LIKELIHOOD: _short(point), CLIPPED: SIGN_ALONE, TRAINED: BUGS}[label]
        setting = f"success, {NAMES[label]}: {said(scope, point, exact)}"
        if stated is None and label != CLIPPED:
            why = ""
        cells.append(judged(setting, measured.accuracy(verdict), stated, why))
    return cells


def _short(point: Point) -> str:
    """Why the likelihood neuron may fall short."""
    return SAME_PERSON if point.column is FACES else TOO_FEW_HINGES


def _rates(series: Series, scope: Scope, point: Point, verdict: Verdict) -> list[Cell]:
    stated = tnr(point.column, point.epsilon) if series is BITRAND else None
    here, why = said(scope, point), "" if stated is None else _short(point)
    return [
        Cell(setting=f"TPR: {here}", ours=measured.reached(verdict, "tpr")),
        judged(f"TNR: {here}", measured.reached(verdict, "tnr"), stated, why),
    ]


def _apart(scope: Scope, point: Point, verdicts: Mapping[str, Verdict]) -> list[Cell]:
    """By how much the neuron that needs no training is ahead."""
    if TRAINED not in verdicts:
        return []
    ahead = measured.difference(measured.accuracy(verdicts[LIKELIHOOD]), measured.accuracy(verdicts[TRAINED]))
    return [Cell(setting=f"success, likelihood less trained neuron: {said(scope, point)}", ours=ahead)]


def _useful(scope: Scope, point: Point, useful: Utility) -> Cell:
    return Cell(
        setting=f"right answers of an honest classifier of perturbed rows: {said(scope, point)}",
        ours=exactly(useful.noisy),
        why=f"Tested on clean rows {useful.on_clean:.3f}; without any noise {useful.clean:.3f}.",
    )


def _item(series: Series, title: str, about: str, notes: tuple[str, ...]) -> Item:
    return Item(title=title, about=about, shares=(series.run,), show=partial(_show, series), notes=notes)


FIGURE_5 = _item(
    BITRAND,
    "Figure 5: success under BitRand",
    "Clients perturb every bit of every feature with BitRand at nominal ε of 1 to 10, and answer a crafted "
    "model with a real gradient; the server wins a game if the chosen neuron's gradient is exactly zero just "
    "when the target is not in the batch. Beside the trained neuron of the paper plays one that is built "
    "from the law of the noise; and an honest classifier shows what the perturbed rows are good for.",
    (
        (
            "The exact ε of a row is the sum over all bits of the most that one bit can tell; the nominal "
            "one is met nowhere. For 512 features it is 2,207, 5,350, 9,239 and 20,038 at nominal 1, 3, 5 "
            "and 10."
        ),
        (
            "Intervals are over rounds, for these targets. At --scale quick the trained neuron plays at ε "
            "= 5 on non-negative features alone."
        ),
    ),
)
FIGURE_11 = _item(
    OME,
    "Figure 11: success under OME",
    "The same under OME in the variant of the paper, alpha = 100. Whatever the nominal ε, bits at odd "
    "places are erased and the others mostly kept.",
    (
        (
            "The exact ε is 35,342 for 512 features at any nominal ε from 1 to 10: this is why the published "
            "curves are flat."
        ),
        "At --scale quick two nominal ε are played, and no trained neuron.",
    ),
)
