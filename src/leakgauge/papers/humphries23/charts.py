"""The charts of figures 2 to 9: advantages with their intervals, the bound, and how good the model is."""

import numpy as np

from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers.comparison import exactly
from leakgauge.papers.humphries23.experiments import Experiment, Game
from leakgauge.papers.humphries23.judging import PARTS, accuracies, advantage, bound, played_games, said
from leakgauge.papers.humphries23.setting import AVERAGE, BLIND, NAMES, OPTIMAL, SHADOW
from leakgauge.papers.paper import Played
from leakgauge.papers.traces import Trace, dots, line, trace_chart

WITHOUT = 10_000.0  # where training without noise stands on an axis of epsilons
COLOURS = {AVERAGE: paint.SERIES[0], OPTIMAL: paint.SERIES[1], SHADOW: paint.SERIES[2]}
IID_COLOURS = {AVERAGE: paint.SERIES[6], OPTIMAL: paint.SERIES[4], SHADOW: paint.SERIES[5]}
GRID = np.geomspace(0.01, 1000.0, 101)


def place(game: Game) -> float:
    """Where a game stands on an axis of epsilons."""
    return WITHOUT if game.epsilon is None else game.epsilon


def advantage_chart(experiment: Experiment, played: Played) -> Chart:
    """Every attack with and without what members have in common, and the bound for independent records."""
    games = played_games(experiment, played)
    traces: list[Trace] = []
    for control, colours in ((False, COLOURS), (True, IID_COLOURS)):
        side = "IID" if control else "non-IID"
        for label, colour in colours.items():
            found = [
                (place(game), advantage(verdicts[label]))
                for game, verdicts in games.items()
                if game.control is control and label in verdicts
            ]
            traces.append(dots(f"{NAMES[label]}, {side}", found, colour))
    traces.append(
        line("bound for independent records", GRID, np.vectorize(bound)(GRID), Stroke.DASHED, paint.INK)
    )
    if (verdict := experiment.blind_verdict(played.verdicts)) is not None:
        ends = np.array([GRID[0], WITHOUT])
        traces.append(
            line(NAMES[BLIND], ends, np.full(2, advantage(verdict).value), Stroke.DOTTED, paint.CHANCE)
        )
    told = [
        f"{game.words}: {advantage(verdicts[AVERAGE]).value:.3f} and {advantage(verdicts[OPTIMAL]).value:.3f}"
        for game, verdicts in games.items()
    ]
    return trace_chart(
        f"{experiment.name}-advantage",
        traces,
        x_title="nominal ε (10,000 stands for training without noise)",
        y_title="advantage, TPR - FPR",
        caption=f"{said(experiment, played.scope, 'Advantage')}; 95 % intervals over repeats.",
        alternative=f"Advantage of the average and of the optimal threshold. {'; '.join(told)}.",
        log=True,
    )


def accuracy_chart(experiment: Experiment, played: Played) -> Chart:
    """How often the model is right about members, non-members and validation rows."""
    games = played_games(experiment, played)
    traces, told = [], []
    for control, dark in ((False, 0), (True, 4)):
        side = "IID" if control else "non-IID"
        for number, (part, words) in enumerate(PARTS.items()):
            found = [
                (place(game), exactly(accuracies(verdicts)[part]))
                for game, verdicts in games.items()
                if game.control is control and part in accuracies(verdicts)
            ]
            traces.append(dots(f"{words}, {side}", found, paint.SERIES[dark + number]))
            told += [f"{words}, {side}: {ours.value:.3f}" for _, ours in found]
    return trace_chart(
        f"{experiment.name}-accuracy",
        traces,
        x_title="nominal ε (10,000 stands for training without noise)",
        y_title="accuracy of the model",
        caption=f"{said(experiment, played.scope, 'Accuracy')}; means over repeats.",
        alternative=f"Accuracy by nominal ε, in rising order: {'; '.join(told)}.",
        log=True,
    )
