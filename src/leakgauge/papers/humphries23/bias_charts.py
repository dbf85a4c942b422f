"""The charts of figures 4 and 5: by the share of members that have an attribute, and by epsilon."""

from collections.abc import Mapping

import numpy as np

from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers.comparison import exactly
from leakgauge.papers.humphries23.charts import COLOURS, GRID, place
from leakgauge.papers.humphries23.experiments import Game, Verdicts
from leakgauge.papers.humphries23.judging import PARTS, accuracies, advantage, bound
from leakgauge.papers.humphries23.setting import AVERAGE, NAMES
from leakgauge.papers.traces import Trace, dots, line, trace_chart

AT = 1.0


def bias_charts(
    name: str, words: str, games: Mapping[tuple[float, float | None], Verdicts]
) -> tuple[Chart, ...]:
    """Advantages and accuracies by share at epsilon 1; where there are more, advantages by epsilon too."""
    here = {share: verdicts for (share, epsilon), verdicts in games.items() if epsilon == AT}
    charts = [_advantages(name, words, here), _accuracies(name, words, here)]
    if len({epsilon for _, epsilon in games}) > 1:
        charts.append(_by_epsilon(name, words, games))
    return tuple(charts)


def _advantages(name: str, words: str, here: Mapping[float, Verdicts]) -> Chart:
    traces: list[Trace] = [
        dots(
            NAMES[label],
            [(share, advantage(found[label])) for share, found in here.items() if label in found],
            colour,
        )
        for label, colour in COLOURS.items()
    ]
    ends = np.array([0.0, 1.0])
    traces.append(line("nothing", ends, np.zeros(2), Stroke.DOTTED, paint.CHANCE))
    told = [f"{share:.0%}: {advantage(found[AVERAGE]).value:.3f}" for share, found in here.items()]
    return trace_chart(
        f"{name}-advantage",
        traces,
        x_title=f"share of members {words}",
        y_title="advantage, TPR - FPR",
        caption=f"Advantage by the share of members {words}, ε = {AT:g}; 95 % intervals over repeats.",
        alternative=f"Advantage of the average threshold by share. {'; '.join(told)}.",
    )


def _accuracies(name: str, words: str, here: Mapping[float, Verdicts]) -> Chart:
    traces = [
        dots(
            part_words,
            [
                (share, exactly(accuracies(found)[part]))
                for share, found in here.items()
                if part in accuracies(found)
            ],
            paint.SERIES[number],
        )
        for number, (part, part_words) in enumerate(PARTS.items())
    ]
    return trace_chart(
        f"{name}-accuracy",
        traces,
        x_title=f"share of members {words}",
        y_title="accuracy of the model",
        caption=f"Accuracy on members, non-members and rows with the members' bias, ε = {AT:g}.",
        alternative="Accuracy by share: validation rows that have the members' bias are predicted as well as "
        "members, others are not.",
    )


def _by_epsilon(name: str, words: str, games: Mapping[tuple[float, float | None], Verdicts]) -> Chart:
    shares = sorted({share for share, _ in games})
    traces: list[Trace] = [
        dots(
            f"p = {share:g}",
            [
                (place(Game("", epsilon)), advantage(found[AVERAGE]))
                for (one, epsilon), found in games.items()
                if one == share
            ],
            colour,
        )
        for share, colour in zip(shares, paint.colours(len(shares)), strict=True)
    ]
    traces.append(
        line("bound for independent records", GRID, np.vectorize(bound)(GRID), Stroke.DASHED, paint.INK)
    )
    return trace_chart(
        f"{name}-by-epsilon",
        traces,
        x_title="nominal ε (10,000 stands for training without noise)",
        y_title="advantage, TPR - FPR",
        caption=f"Advantage of the average threshold by ε, p being the share of members {words}.",
        alternative="Advantage by nominal ε for each share; shares differ more than epsilons do.",
        log=True,
    )
