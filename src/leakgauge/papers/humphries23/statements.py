"""The numbers of an experiment: advantages with their intervals, accuracies, and what the paper states."""

from dataclasses import replace

from leakgauge.papers import metric_intervals
from leakgauge.papers.comparison import Agreement, ComparedNumber, OurNumber, PublishedNumber
from leakgauge.papers.humphries23.plans import (
    ATTACK_NAMES,
    AVERAGE,
    BLIND,
    DELTA,
    OPTIMAL,
    SHADOW,
    DependenceGame,
    Experiment,
    ExperimentVerdicts,
    VerdictsByLabel,
)
from leakgauge.papers.paper import PlayedItem, Scope
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
OTHER_ROWS = "Played on generated rows: the files of the paper's data were not given (--data)."


def advantage(verdict: Verdict) -> OurNumber:
    """TPR - FPR of an attack: at its own threshold, or at one for each model chosen on other records."""
    return metric_intervals.metric(verdict, METRICS[verdict.label])


def advantage_bound(epsilon: float | None) -> float:
    """The advantage that theorem III.1 allows where records are independent, if the label were true."""
    return 1.0 if epsilon is None else float(humphries_advantage(epsilon, DELTA))


def experiment_label(
    experiment: Experiment, scope: Scope, what: str, game: DependenceGame | None = None
) -> str:
    """The setting of a cell."""
    words = experiment.words if experiment.is_real(scope) else f"generated rows for {experiment.words}"
    return f"{what}: {words}" + (f", {game.words}" if game is not None else "")


def claim_number(
    setting: str,
    ours: OurNumber,
    published: PublishedNumber | None = None,
    why: str = "",
    *,
    real: bool = True,
) -> ComparedNumber:
    """A number beside a statement; ``why`` is said where they differ, and statements are about real rows."""
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
                why="Who has rows of both kinds sees of a record what it is, without any model.",
            )
        )
    return cells


def model_accuracies(verdicts: VerdictsByLabel) -> dict[str, float]:
    """How often the model is right about each part of the rows, on average over repeats."""
    found = verdicts[AVERAGE].utility or {}
    return {part: found[part] for part in PARTS if part in found}


def _right(verdicts: VerdictsByLabel) -> str:
    """How good the model is, in a sentence."""
    told = [f"{right:.3f} of {PARTS[part]}" for part, right in model_accuracies(verdicts).items()]
    return f"The model is right about {', '.join(told)}, on average over repeats." if told else ""


def _in_sample(
    experiment: Experiment, scope: Scope, game: DependenceGame, verdict: Verdict
) -> ComparedNumber:
    null = verdict.metrics[NULL].value
    return ComparedNumber(
        setting=experiment_label(experiment, scope, "advantage, in-sample optimum of the paper", game),
        ours=metric_intervals.metric(verdict, IN_SAMPLE),
        drawn=experiment.drawn and experiment.is_real(scope),
        why=f"Without any leak it would be {null:.4f} on average; the bound, if ε were true, is "
        f"{advantage_bound(game.epsilon):.4f}.",
    )
