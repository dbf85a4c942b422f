"""The numbers of an experiment: advantages with their intervals, accuracies, and what the paper states."""

from dataclasses import replace

from leakgauge.papers import measured
from leakgauge.papers.comparison import Agreement, Cell, Ours, Published
from leakgauge.papers.humphries23.experiments import Experiment, Game, Games, Verdicts
from leakgauge.papers.humphries23.setting import AVERAGE, BLIND, DELTA, NAMES, OPTIMAL, SHADOW
from leakgauge.papers.paper import Played, Scope
from leakgauge.theory.advantage import humphries
from leakgauge.verdict import Verdict

METRICS = {
    AVERAGE: "advantage_own",
    OPTIMAL: "advantage_per_release",
    SHADOW: "advantage_own",
    BLIND: "advantage_own",
}
IN_SAMPLE, NULL = "advantage_in_sample", "advantage_in_sample_null"
PARTS = {"members": "members", "others": "non-members", "validation": "validation rows"}
OTHER_ROWS = "Played on generated rows: the files of the paper's data were not given (--data)."


def advantage(verdict: Verdict) -> Ours:
    """TPR - FPR of an attack: at its own threshold, or at one for each model chosen on other records."""
    return measured.reached(verdict, METRICS[verdict.label])


def bound(epsilon: float | None) -> float:
    """The advantage that theorem III.1 allows where records are independent, if the label were true."""
    return 1.0 if epsilon is None else float(humphries(epsilon, DELTA))


def said(experiment: Experiment, scope: Scope, what: str, game: Game | None = None) -> str:
    """The setting of a cell."""
    words = experiment.words if experiment.is_real(scope) else f"generated rows for {experiment.words}"
    return f"{what}: {words}" + (f", {game.words}" if game is not None else "")


def judged(
    setting: str, ours: Ours, published: Published | None = None, why: str = "", *, real: bool = True
) -> Cell:
    """A number beside a statement; ``why`` is said where they differ, and statements are about real rows."""
    if published is not None and not real:
        return Cell(setting=setting, ours=ours, published=published, comparable=False, why=OTHER_ROWS)
    cell = Cell(setting=setting, ours=ours, published=published)
    return replace(cell, why=why) if why and cell.verdict is Agreement.DIFFERS else cell


def played_games(experiment: Experiment, played: Played) -> Games:
    """The games of an experiment."""
    return experiment.judged(played.scope.scale, played.verdicts)


def plain_cells(experiment: Experiment, played: Played) -> list[Cell]:
    """What every experiment has: advantages beside accuracies, and the in-sample optimum beside its null."""
    scope, cells = played.scope, []
    for game, verdicts in played_games(experiment, played).items():
        for label, verdict in verdicts.items():
            setting = said(experiment, scope, f"advantage, {NAMES[label]}", game)
            drawn = experiment.drawn and experiment.is_real(scope)
            cells.append(Cell(setting=setting, ours=advantage(verdict), drawn=drawn, why=_right(verdicts)))
        cells.append(_in_sample(experiment, scope, game, verdicts[OPTIMAL]))
    if (blind := experiment.blind_verdict(played.verdicts)) is not None:
        cells.append(
            Cell(
                setting=said(experiment, scope, f"advantage, {NAMES[BLIND]}"),
                ours=advantage(blind),
                why="Who has rows of both kinds sees of a record what it is, without any model.",
            )
        )
    return cells


def accuracies(verdicts: Verdicts) -> dict[str, float]:
    """How often the model is right about each part of the rows, on average over repeats."""
    found = verdicts[AVERAGE].utility or {}
    return {part: found[part] for part in PARTS if part in found}


def _right(verdicts: Verdicts) -> str:
    """How good the model is, in a sentence."""
    told = [f"{right:.3f} of {PARTS[part]}" for part, right in accuracies(verdicts).items()]
    return f"The model is right about {', '.join(told)}, on average over repeats." if told else ""


def _in_sample(experiment: Experiment, scope: Scope, game: Game, verdict: Verdict) -> Cell:
    null = verdict.metrics[NULL].value
    return Cell(
        setting=said(experiment, scope, "advantage, in-sample optimum of the paper", game),
        ours=measured.reached(verdict, IN_SAMPLE),
        drawn=experiment.drawn and experiment.is_real(scope),
        why=f"Without any leak it would be {null:.4f} on average; the bound, if ε were true, is "
        f"{bound(game.epsilon):.4f}.",
    )
