"""The audit of a finished model given as an object, without a plan and without a run folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from leakgauge import verdict
from leakgauge.catalog import PreparedAudit, domain_with_model_audit, prepare_contenders
from leakgauge.core.errors import naming_arguments
from leakgauge.core.game import NoControl, Trials
from leakgauge.limits import NO_LIMITS, Limits, read_limits
from leakgauge.plan import Contender, MetricsTable, plan_of
from leakgauge.risk import RiskContext, assess_risk, count_comparisons
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.dry_run import duration_range, time_range
from leakgauge.runner.engines import InProcessEngine, check_engine, map_in_order, open_engine
from leakgauge.runner.play_block import study_attacks
from leakgauge.runner.positive_control import judge_no_control
from leakgauge.summary import (
    NOT_COUNTED_HERE,
    RunResult,
    apply_controls,
    doubts,
    recognised_risk,
    summarise_run,
)
from leakgauge.support.progress import announce, listen_to_progress, progress_bar
from leakgauge.support.result_views import result_views
from leakgauge.support.table_reader import convert_value
from leakgauge.support.tabular_objects import clone_of
from leakgauge.support.work_count import TRAINING, counting_work, sampling_work

AUDIT = "model"
ARGUMENTS = (  # what the keys of a plan are called here
    (f"plan: audit {AUDIT!r}.metrics: ", ""),
    (f"plan: audit {AUDIT!r}.", ""),
    ("plan: ", ""),
    ("challenger.train (your own code) or challenger.recipe", "train"),
    ("raise challenger.reference, or mark rows as reference", "give reference=(X, y)"),
    ("raise challenger.reference or the attack's rows, where there is such a key", "pass reference=(X, y)"),
    ("challenger.", ""),
    ("data.label: ", "y: "),
    ("accuracy_check = false", "accuracy_check=False"),
)
ROWS = ("(counted from 0)", "(counted from 0, members first, then others)")
EXPOSURE_ARGUMENTS = (
    ("challenger.exposure_", ""),
    ("challenger.targets.names", "targets"),
    ("records are named by data.name", "records are called as names says, or members 0, others 0, ..."),
    ("challenger.train, or challenger.recipe (both need challenger.model)", "train"),
)
EXPOSE_RESULT = "call result.expose(), then result.summary and result.check(limits) count them"
CLONES = 16  # shadow models of an estimator, where nothing is said about its training
CLONED = (
    ': clones of {} fitted anew, to compare the model with; attacks=["{}"] leaves them out, and '
    "then the risk is not within any limit"
)
LONG = 5.0  # seconds, from which the cost is said before the trainings start


def audit_model(
    model: Any,
    X_members: Any,
    y_members: Any,
    X_others: Any,
    y_others: Any,
    *,
    reference: tuple[Any, Any] | None = None,
    train: Any = None,
    shadows: Mapping[str, Any] | str | Path | None = None,
    attacks: Sequence[Mapping[str, Any] | str] | None = None,
    names: str | Sequence[Any] | None = None,
    groups: str | Sequence[str] | Mapping[str, Sequence[Any]] | None = None,
    output: str | None = None,
    randomised: bool = False,
    epsilon: float | None = None,
    delta: float = 0.0,
    limits: Limits | Mapping[str, Any] = NO_LIMITS,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int = 1,
    cache: bool = True,
    accuracy_check: bool = True,
    control: bool = False,
) -> RunResult:
    """Measure how well the training members of a finished model can be identified.

    Attacks with shadow models train models like yours (`train`), or use predictions of models that you
    trained (`shadows`). Without either, a model that scikit-learn can clone is trained 16 times anew; of any
    other only the losses are compared, which clears nobody: its risk is not within any limit.

    Args:
        model: A model with `predict_proba`, a torch module, a function of rows, or the path of an ONNX file.
            A list of models: checkpoints of its training that the attacker sees too, the finished one last.
            None: X holds what the model said, a loss for each record or the probabilities of all classes.
        X_members: The records it was trained on: an array, a data frame of pandas or polars, a list of texts,
            or the path of a CSV or Parquet file.
        y_members: Their true classes, or the name of a column of X.
        X_others: Other records, of the same kind and from the same source.
        y_others: Their true classes.
        reference: Records of the attacker that are not in question, as a tuple (X, y).
        train: How the model was trained: a function `fit(X, y, rng)` that returns a model, an estimator or a
            pipeline of scikit-learn, or a tuple of a function that makes a torch module and one that trains
            it. A function may yield the model at each checkpoint.
        shadows: Predictions of models that were trained elsewhere: a dict, or an .npz file, with the array
            `included` (models x rows) and one of `probabilities`, `logits` (models x rows x classes),
            `true_probabilities` or `losses` (models x rows), or `trajectories` (models x rows x checkpoints),
            losses like those in X; rows are members, others, reference.
        attacks: The attacks, as a plan names them. The default is all that the arguments allow.
        names: What identifies records, for their owner alone (`expose` of the result): a column of X, which
            is then no feature, or a tuple of the names of members, others and reference.
        groups: By what exposure is shown, and within what a control splits records: columns of X, which stay
            features, or a dict of tuples of the values of members, others and reference.
        output: What the model returns: "probabilities" or "logits"; found out unless given.
        randomised: Each record was included independently at random with probability one half.
        epsilon: The promised epsilon; needs `randomised`.
        delta: The promised delta.
        limits: What the owner allows, as `Limits` or as a dict such as {"accuracy": 0.6}.
        confidence: The confidence level of all intervals.
        seed: The seed of all random numbers.
        workers: How many shadow models are trained at the same time.
        cache: Keeps trainings in the user's cache folder, so that they are not repeated.
        accuracy_check: Refuses a model whose columns fit the labels of its own training rows far better in
            another order.
        control: Audits, instead of the model, one trained by `train` after members and others were pooled and
            split anew at random: what attacks find in your model but not there is what distinguishes your
            members from the others.

    Raises:
        BadInput: If an argument cannot be used; the message says what to change.
    """
    domain, prepare = domain_with_model_audit()
    check_engine("local", workers, None)
    stated = limits if isinstance(limits, Limits) else read_limits(limits, "limits")
    options = {
        "output": output,
        "randomised": convert_value(bool, randomised, "randomised"),
        "epsilon": None if epsilon is None else convert_value(float, epsilon, "epsilon"),
        "delta": convert_value(float, delta, "delta"),
        "cache": convert_value(bool, cache, "cache"),
        "accuracy_check": convert_value(bool, accuracy_check, "accuracy_check"),
        "control": convert_value(bool, control, "control"),
    }
    with naming_arguments(*ARGUMENTS):
        with naming_arguments(ROWS):
            clone = clone_of(model) if train is None and shadows is None and attacks is None else None
            challenger, usual = prepare(
                model,
                (X_members, y_members),
                (X_others, y_others),
                reference=reference,
                train=train if clone is None else clone,
                shadows=Path(shadows) if isinstance(shadows, str) else shadows,
                names=names,
                groups=groups,
                seed=convert_value(int, seed, "seed"),
                options=options,
                n_shadows=None if clone is None else CLONES,
            )
        table = {"name": AUDIT, "domain": domain.name, "rounds": 1, "attacks": list(attacks or usual)}
        plan = plan_of({"seed": seed, "audit": [{**table, "metrics": {"confidence": confidence}}]})
        (audit,) = plan.audits
        prepared = prepare_contenders(domain.name, challenger, audit.contenders, plan.seed)
        names = type(clone).__name__, audit.contenders[0].attack
        played = _play(prepared, plan.seed, workers, "" if clone is None else CLONED.format(*names))
    way_out = NOT_COUNTED_HERE if control else EXPOSE_RESULT
    found = judge_model(
        prepared, domain.name, audit.contenders, played, plan.seed, audit.metrics, stated, way_out
    )
    return found if control else replace(found, exposure=_Exposure(challenger, domain.name))


@dataclass(frozen=True, eq=False)
class _Exposure:
    """Computes how exposed the records of a finished model are."""

    challenger: Any
    domain: str

    def __call__(
        self,
        *,
        out: str | Path | None,
        targets: Sequence[str | int] | None,
        shadows: int,
        workers: int,
    ) -> Any:
        check_engine("local", workers, None)
        with naming_arguments(*EXPOSURE_ARGUMENTS, *ARGUMENTS):
            chosen = self.challenger.with_exposure(targets, shadows)
            return result_views().expose_records(chosen, self.domain, AUDIT, out, workers)


def _play(prepared: PreparedAudit, seed: int, workers: int, cloned: str) -> dict[str, Trials]:
    """Let all attacks study, then play the only round."""
    _announce_trainings(prepared, seed, workers, cloned)
    with open_engine("local", workers) as engine, progress_bar(1, unit="model") as advance:

        def show(message: str) -> None:
            advance(message, 0)

        with listen_to_progress(show):
            play_block = study_attacks(prepared, seed, engine, show)
            (trials,) = map_in_order(engine, play_block, [RoundBlock(0, range(1))])
    return dict(trials)


def _announce_trainings(prepared: PreparedAudit, seed: int, workers: int, cloned: str) -> None:
    """Say what the trainings of the attacks will take, where that is long: one of them is timed.

    Where clones of a model are trained without having been asked for, it is always said, as ``cloned`` says.
    """
    with counting_work() as counts, sampling_work() as sample:
        start = perf_counter()
        study_attacks(prepared, seed, InProcessEngine())
        seconds = perf_counter() - start + sample.skipped_seconds / workers
    if counts[TRAINING] and (cloned or seconds > LONG):
        takes = duration_range(*time_range(seconds))
        announce(f"{counts[TRAINING]:,} trainings, about {takes}{cloned}")


def judge_model(
    prepared: PreparedAudit,
    domain: str,
    contenders: Sequence[Contender],
    played: Mapping[str, Trials],
    seed: int,
    metrics: MetricsTable,
    limits: Limits,
    way_out: str = NOT_COUNTED_HERE,
) -> RunResult:
    """Judge all attackers against the promise and the limits; the result can be judged by other limits.

    A limit on people recognised is undecided, since nobody is counted yet: ``way_out`` says what to do.
    """
    challenger = prepared.challenger
    study = getattr(challenger, "understated_after_study", challenger.understated_by)
    understated = study(prepared.attacks.values())
    control = challenger.control()
    assert isinstance(control, NoControl)  # a finished model
    judged = [
        verdict.judge_trials(
            played[one.label],
            guarantee=challenger.guarantee,
            subject=verdict.VerdictSubject(
                audit=AUDIT,
                domain=domain,
                label=one.label,
                attack=one.attack,
                knowledge=one.knowledge,
                parameters={"data": {}, "challenger": {}, "mechanism": {}, "attack": one.attack_parameters},
                seed=seed,
            ),
            metrics=metrics,
            n_verdicts=len(contenders),
            control=judge_no_control(control),
        )
        for one in contenders
    ]
    judged = verdict.mark_untestable(judged, [one.label for one in contenders])
    counted = sum(limits.counts(one.knowledge, one.label) for one in contenders)
    context = RiskContext(
        confidence=metrics.confidence, comparisons=count_comparisons(limits, max(counted, 1))
    )
    contexts = [replace(context, understated=understated.get(one.knowledge)) for one in contenders]
    verdicts = apply_controls(
        [_with_risk(found, played[found.label], limits, own) for found, own in zip(judged, contexts)]
    )
    return RunResult(
        tuple(verdicts),
        summarise_run(
            verdicts,
            limits=limits,
            caveats=doubts(challenger.notes),
            recognised=recognised_risk(None, [AUDIT], limits, way_out=way_out),
        ),
        notes=tuple(challenger.notes),
        judge_again=lambda other: judge_model(
            prepared, domain, contenders, played, seed, metrics, other, way_out
        ),
    )


def _with_risk(
    found: verdict.Verdict, trials: Trials, limits: Limits, context: RiskContext
) -> verdict.Verdict:
    risk = assess_risk(
        trials,
        found.metrics,
        limits=limits,
        attacker=found.label,
        counted=limits.counts(found.knowledge, found.label),
        n_rounds=found.rounds,
        context=context,
    )
    return replace(found, risk=risk)
