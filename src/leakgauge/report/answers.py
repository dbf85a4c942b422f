"""The two answers of a run in words, for the terminal, the report and a comment: promise and risk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leakgauge import catalog
from leakgauge.core.guarantee import Unit
from leakgauge.referee.metric_evaluation import is_of_one_release
from leakgauge.report.adversary_names import adversary_names, clip, whole_sentences
from leakgauge.report.judged_run import is_finished, round_term
from leakgauge.report.metric_text import (
    UNIT_NAMES,
    above_promise_words,
    bound_end_text,
    interval_text,
    metric_above_promise,
    not_sure_of_violation,
    value_text,
)
from leakgauge.report.number_format import allowed_percent, count, lower, number, percent
from leakgauge.risk import (
    ANY_ATTACKER,
    DRAWN_SPLITS,
    ONE_RELEASE,
    LimitResult,
    Risk,
    RiskStatus,
    leading_metric,
)
from leakgauge.summary import (
    RUN_EXPOSE,
    TOO_WEAK_ACCURACY,
    WEAK_ACCURACY,
    PromiseStrength,
    PromiseSummary,
    RunSummary,
    assumed_words,
    is_control,
    unprotected_words,
    verdict_strength,
)
from leakgauge.verdict import Finding, Verdict, not_read, why_untestable

CALIBRATED = ("accuracy_mean", "accuracy")  # at a threshold calibrated on labelled releases
COMPUTED = "This is computed from the stated noise; what is measured varies around it by chance."


@dataclass(frozen=True)
class Answer:
    """An answer: its tone (good, warn, bad or neutral), a few words, and sentences that explain it."""

    tone: str
    words: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


def promise_answer(summary: RunSummary, verdicts: Sequence[Verdict]) -> Answer:
    """Say whether the promise is kept; one that is too weak to protect is never good news.

    Nor is one of a mechanism that is not as stated, whatever the attacks show.
    """
    answer = _as_assumed(_promise_answer(summary, verdicts), summary.assumed)
    covered = [verdict for verdict in verdicts if verdict.audit in summary.covers]
    if unread := not_read(tuple(dict.fromkeys(name for one in covered for name in one.unread))):
        text = f"{unread[0].upper()}{unread[1:]}."
        tone = "warn" if answer.tone in ("good", "neutral") else answer.tone
        answer = Answer(tone, f"{answer.words}; not everything was read", (text, *answer.sentences[:1]))
    other = next((one for one in verdicts if one.audit in summary.covers and one.about == "mechanism"), None)
    if other is None or summary.promise.status == Finding.VIOLATED:
        return answer
    said = "" if not other.evidence else f" {other.evidence[0]}"
    telling = any(row["rejected"] and row["reveals"] for row in other.conformance)
    unused = "The attackers tried do not use it: somebody who does may be right more often than they are."
    no_larger = unused if telling else "This alone shows no larger ε than was promised."
    text = f"The mechanism is not as stated.{said} {no_larger}"
    if other.promised is None:
        text = f"The mechanism is not as stated.{said}"
    tone = "warn" if answer.tone in ("good", "neutral") else answer.tone
    return Answer(tone, f"{answer.words}; the mechanism is not as stated", (text, *answer.sentences))


def _as_assumed(answer: Answer, assumed: Sequence[str]) -> Answer:
    """An answer that rests on what nobody stated is amber, whatever it says."""
    if not assumed or answer.tone not in ("good", "bad"):
        return answer
    text = f"This rests on what was not stated: {assumed_words(assumed)}."
    return Answer("warn", f"{answer.words}, as assumed", (text, *answer.sentences))


def _promise_answer(summary: RunSummary, verdicts: Sequence[Verdict]) -> Answer:
    promise, noun = summary.promise, round_term(verdicts).noun
    worth = _promise_worth(promise, noun, assumed="mechanism.epsilon" in summary.assumed)
    match promise.status:
        case Finding.VIOLATED:
            return Answer("bad", "Promise broken", (_violation(promise, verdicts), *worth))
        case Finding.UNTESTABLE:
            text = "No attack recognised anybody even in the positive control, so this audit tested nothing."
            untestable = [one for one in verdicts if one.audit == promise.audit and not is_control(one)]
            if whys := [why for one in untestable if (why := why_untestable(one)) is not None]:
                text = f"Nothing was tested: {whys[0]}."
            return Answer("warn", "Promise not tested", (text, *worth))
        case Finding.UNDECIDED if not promise.testable:
            return Answer(_weak_tone(promise), "Promise too weak to protect", worth)
        case Finding.UNDECIDED if _is_not_as_stated(summary, verdicts):
            text = "The promise cannot be tested while the mechanism is not as stated."
            return Answer(_weak_tone(promise, at_best="warn"), "Promise not tested", (text, *worth))
        case Finding.UNDECIDED if promise.strength is PromiseStrength.TOO_WEAK:
            needed = "" if promise.rounds_needed is None else f"; {count(promise.rounds_needed)} are needed"
            text = f"It was not tested: so few {noun}s cannot show a violation{needed}."
            text = text if promise.no_bound is None else f"It was not tested: {promise.no_bound}."
            return Answer("bad", "Promise too weak to protect", (*worth, text))
        case Finding.UNDECIDED if promise.no_bound is not None and promise.rounds_needed is None:
            text = f"The promise cannot be compared with these trials: {promise.no_bound}."
            return Answer(_weak_tone(promise, at_best="warn"), "Promise not tested", (text, *worth))
        case Finding.UNDECIDED:
            rounds = "more" if promise.rounds_needed is None else f"{count(promise.rounds_needed)}"
            text = (
                f"Too few {noun}s: a leak as large as the promise would not be noticed; {rounds} are needed."
            )
            return Answer(_weak_tone(promise, at_best="warn"), "Promise not tested", (text, *worth))
        case Finding.NOT_VIOLATED:
            above = _above_promise(summary, verdicts)
            words = "Promise not violated so far" if above else "Promise not violated"
            if promise.strength is PromiseStrength.TOO_WEAK:
                words = "Promise not violated, but too weak to protect"
            elif promise.strength is PromiseStrength.WEAK:
                words = "Promise not violated, but weak"
            tone = _weak_tone(promise, at_best="warn" if above else "good")
            return Answer(tone, words, (*(above or (_not_above_promise(summary, verdicts),)), *worth))
    text = "Nothing was promised, so nothing could be violated."
    return Answer("neutral", "No promise stated", (text,))


def _is_not_as_stated(summary: RunSummary, verdicts: Sequence[Verdict]) -> bool:
    """Whether the worst finding is open because the mechanism is not as stated."""
    about = [one.about for one in verdicts if one.audit == summary.promise.audit]
    return "mechanism" in about and summary.promise.rounds_needed is None


def exit_sentence(summary: RunSummary, verdicts: Sequence[Verdict]) -> str:
    """What exit code 0 says of a run, so that nobody takes it for more than was answered."""
    promise = {
        Finding.NOT_VIOLATED.value: "no attack tried violated the promise",
        Finding.UNDECIDED.value: "the promise was too weak to test",
    }.get(summary.promise.status, "nothing was promised")
    within = "the risk is within the limits"
    if summary.risk.scope != ANY_ATTACKER:
        within += " for the attackers tried"
    covered = [found for found in verdicts if found.audit in summary.covers]
    if (unprotected := unprotected_words(summary.promise, summary.risk, covered)) is not None:
        within = f"the risk is within the limits {unprotected}"
    limited = summary.risk.status is RiskStatus.WITHIN
    return f"{promise}, and {within if limited else 'no limit on the risk was stated'}."


def risk_answer(summary: RunSummary, verdicts: Sequence[Verdict]) -> Answer:
    """Say how well people can be identified, and whether that is within the owner's limits."""
    if summary.risk.metric == "recognised":
        return _as_assumed(_recognised_answer(summary.risk), summary.assumed)
    answer = _as_assumed(_attackers_answer(summary, verdicts), summary.assumed)
    if summary.recognised is None:
        return answer
    return replace(answer, sentences=(*answer.sentences, *_recognised_answer(summary.recognised).sentences))


def _attackers_answer(summary: RunSummary, verdicts: Sequence[Verdict]) -> Answer:
    risk = summary.risk
    success = _success(summary, verdicts)
    reason = () if risk.reason is None else (f"{risk.reason[0].upper()}{risk.reason[1:]}.",)
    match risk.status:
        case RiskStatus.OVER:
            return Answer("bad", "Risk over the limit", success)
        case RiskStatus.WITHIN:
            about = "This holds for the attackers tried; a stronger one may do better."
            if risk.scope == ANY_ATTACKER:
                about = (
                    "This holds for any attacker with this knowledge, by the noise distribution, about the "
                    "targets of this audit."
                )
            elif risk.scope.startswith(ONE_RELEASE):
                about = "This is about this one release and the attackers tried; it says nothing of others."
            elif risk.scope.startswith(DRAWN_SPLITS):
                about = _about_drawn_splits(risk.scope)
            if "not possible" in risk.scope and not risk.scope.startswith(ONE_RELEASE):
                about += " No positive control is possible here: an attack that fails looks the same."
            return Answer("good", "Risk within the limit", (*success, about))
        case RiskStatus.UNDECIDED:
            return Answer("warn", "Risk undecided", (*success, *reason, *_rounds_sentence(risk, verdicts)))
    found = _risk_verdict(summary, verdicts)
    withdrawn = found is not None and found.withdrawn is not None
    return _without_limit(risk, success, round_term(verdicts).noun, withdrawn=withdrawn)


def _about_drawn_splits(scope: str) -> str:
    """What `within` leaves open where only few random splits of the people were drawn."""
    splits = scope.removeprefix(DRAWN_SPLITS).partition(";")[0]
    return (
        f"This holds for the attackers tried and for {splits}; a stronger attacker may do better, and so may "
        "these in a kind of split that is rare. More splits can rule that out: raise splits."
    )


def _rounds_sentence(risk: Risk, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """How many rounds would decide, or would give an interval at all; nothing if not known."""
    if risk.rounds_needed is None:
        return ()
    needed, more = count(risk.rounds_needed), round_term(verdicts).more
    if risk.high is None:
        return (f"{more}: {needed} or more give an interval.",)
    return (f"{more}: about {needed} would decide.",)


def _without_limit(risk: Risk, success: tuple[str, ...], noun: str, *, withdrawn: bool) -> Answer:
    """The answer where the owner stated no limit: its tone follows the success of the attacker."""
    if risk.value is None:
        text = f"There are too few {noun}s to say how well people can be identified."
        if withdrawn:
            text = f"Not measured: {risk.reason}."
        return Answer("warn", "Risk not measured", (text,))
    if risk.value >= TOO_WEAK_ACCURACY:
        return Answer("bad", "High risk, no limit stated", success)
    if risk.value >= WEAK_ACCURACY:
        return Answer("warn", "Considerable risk, no limit stated", success)
    return Answer("neutral", "No limit stated", (*success, "This is not evidence that the release is safe."))


def _success(summary: RunSummary, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """How often the attacker of the risk is right, and what is compared with the limit."""
    risk = summary.risk
    if risk.metric is None or risk.value is None:
        return ()
    found = _risk_verdict(summary, verdicts)
    average = found is not None and found.n_targets > 1 and is_average(risk.metric)
    of_average = " on the average over targets" if average else ""
    whose = "the assumed" if any(key.startswith("limits") for key in summary.assumed) else "your"
    shown = "" if risk.limit is None else limit_text(risk.metric, risk.limit)
    limit = shown and f"; {whose} limit{of_average} is {shown}"
    if risk.channel is not None:
        toss = "" if risk.limit is not None else "; a coin toss is right 50% of the time"
        right = (
            f"{risk.channel[0].upper()}{risk.channel[1:]} alone are enough to be right {percent(risk.value)}"
        )
        return (f"{right} of the time{toss}{limit}.", *_compared_bounds(risk))
    if risk.scope == ANY_ATTACKER or found is None:
        computed = risk.scope == ANY_ATTACKER
        subject = "The best possible attacker" if computed else "An attacker"
        from_noise = (COMPUTED,) if computed else ()
        if risk.metric.startswith("accuracy"):
            return (f"{subject} is right {percent(risk.value)} of the time{limit}.", *from_noise)
        title = catalog.metric_descriptions()[risk.metric].title
        return (f"{subject}: {title} {value_text(risk.metric, risk.value)}{limit}.", *from_noise)
    toss = "" if risk.limit is not None else "; a coin toss is right 50% of the time"
    leading = leading_metric(found.metrics)
    if leading in (None, risk.metric):
        right = f"{_right(found, risk.metric, verdicts)}{toss}{limit}."
        missing = () if risk.status is RiskStatus.UNDECIDED else _why_no_interval(found, risk.metric)
        about = () if risk.status is RiskStatus.WITHIN else _about_one_release(found, risk.metric)
        return (right, *about, *missing, *_compared_bounds(risk))
    other = f"{_compared_title(risk.metric, found)}: {_with_interval(found, risk.metric)}{limit}."
    missing = _why_no_interval(found, leading or "") if risk.high is not None or risk.reason is None else ()
    about = () if risk.status is RiskStatus.WITHIN else _about_one_release(found, leading or "")
    return (f"{_right(found, leading or '', verdicts)}.", *about, *missing, other, *_compared_bounds(risk))


def _why_no_interval(found: Verdict, metric: str) -> tuple[str, ...]:
    """Why a number has no interval, such as too few trials, and how many there have to be."""
    estimate = found.metrics.get(metric)
    if estimate is None or estimate.low is not None or not estimate.reason:
        return ()
    return (f"{estimate.reason[0].upper()}{estimate.reason[1:]}.",)


def _about_one_release(found: Verdict, metric: str) -> tuple[str, ...]:
    """What the interval of a finished release is over, where there is one."""
    estimate = found.metrics.get(metric)
    if estimate is None or estimate.low is None or not is_of_one_release(estimate):
        return ()
    return ("This interval is over the records of this one release, and says nothing about other releases.",)


def is_average(metric: str) -> bool:
    """Whether a metric is about all targets together, and not about the one identified best."""
    described = catalog.metric_descriptions().get(metric)
    return described is not None and described.worst_of is None


def _right(found: Verdict, metric: str, verdicts: Sequence[Verdict]) -> str:
    """How often an attacker is right, with its interval, where, and under which assumption."""
    if not metric.startswith("accuracy"):
        title = catalog.metric_descriptions()[metric].title
        return f"{_attacker(found)}: {title} {_with_interval(found, metric)}"
    value, _, interval = _with_interval(found, metric).partition(" ")
    time = f"{value} of the time{f' {interval}' if interval else ''}"
    return f"{_attacker(found)} is right {time}{_setting(found, verdicts)}{_assumption(metric, found)}"


def _with_interval(found: Verdict, metric: str) -> str:
    """A number of one attacker with its interval, the same everywhere."""
    estimate = found.metrics.get(metric)
    if estimate is None:
        return value_text(metric, None if found.risk is None else found.risk.value)
    value = value_text(metric, estimate.value)
    known = estimate.low is not None and estimate.high is not None
    return f"{value} ({interval_text(metric, estimate)})" if known else value


def _compared_title(metric: str, found: Verdict) -> str:
    """What a number is that is compared with a limit beside the leading one."""
    if metric in CALIBRATED:
        return f"With a threshold calibrated on labelled {round_term([found]).short}s, which it may not have"
    if metric == "accuracy_worst":
        return "About the person it identifies best"
    return catalog.metric_descriptions()[metric].title


def _setting(found: Verdict, verdicts: Sequence[Verdict]) -> str:
    """Which of several audits a number is from; a point of a sweep goes by what was swept."""
    if len({verdict.audit for verdict in verdicts}) == 1:
        return ""
    point = found.audit.partition("@")[2]
    one_sweep = len({verdict.audit.partition("@")[0] for verdict in verdicts}) == 1
    return f" with {clip(point)}" if point and one_sweep else f" in {clip(found.audit)}"


def _compared_bounds(risk: Risk) -> tuple[str, ...]:
    """The one-sided bounds that decide; they differ from the interval, which is for one attacker alone."""
    if risk.metric is None or risk.limit is None:
        return ()
    low = None if risk.low is None else bound_end_text(risk.metric, low=risk.low, limit=risk.limit)
    high = None if risk.high is None else bound_end_text(risk.metric, high=risk.high, limit=risk.limit)
    match risk.status:
        case RiskStatus.OVER if low is not None:
            return (f"Allowing for all comparisons with limits, it is at least {low}.",)
        case RiskStatus.WITHIN if high is not None:
            return (f"For the comparison with the limit, it is at most {high}.",)
        case RiskStatus.UNDECIDED if low is not None and high is not None:
            return (f"For the comparison with the limit, it is between {low} and {high}.",)
    return ()


def _assumption(metric: str, found: Verdict) -> str:
    """What a number assumes that the attacker may not have."""
    if metric in CALIBRATED:
        return f", if it can calibrate its threshold on labelled {round_term([found]).short}s"
    return ", for the person it identifies best" if metric == "accuracy_worst" else ""


def _risk_verdict(summary: RunSummary, verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that the risk is taken from."""
    return next(
        (
            verdict
            for verdict in verdicts
            if verdict.label == summary.risk.attacker and summary.audit in (None, verdict.audit)
        ),
        None,
    )


def _attacker(found: Verdict) -> str:
    title = catalog.knowledge_term(found.domain, found.knowledge).title
    article = "An" if title[:1].lower() in "aeiou" else "A"
    return f"{article} {title}" if " " in title else f"The attacker '{found.label}'"


def limit_text(metric: str, limit: float) -> str:
    """Write a limit as the owner set it, without digits that nobody stated.

    >>> limit_text("accuracy", 0.6), limit_text("auc", 0.65)
    ('60%', '0.65')
    """
    described = catalog.metric_descriptions().get(metric)
    return f"{100 * limit:.6g}%" if described is None or described.is_share else f"{limit:.6g}"


@dataclass(frozen=True)
class LimitRow:
    """One of several limits in words: what is limited, its status, and who reaches how much."""

    limit: str
    status: str
    found: str

    @property
    def text(self) -> str:
        return f"{self.limit}: {self.status}; {self.found}" if self.found else f"{self.limit}: {self.status}"


def limit_rows(summary: RunSummary, verdicts: Sequence[Verdict]) -> tuple[LimitRow, ...]:
    """Every stated limit by itself; nothing where there is only one, which the answer is about."""
    if len(summary.limit_results) < 2:
        return ()
    return tuple(_limit_row(one, verdicts) for one in summary.limit_results)


def _limit_row(one: LimitResult, verdicts: Sequence[Verdict]) -> LimitRow:
    title = {"accuracy": "Correct identifications", "recognised": "People recognised"}.get(one.metric)
    title = title or catalog.metric_descriptions()[one.metric].title
    head = f"{title}, limit {limit_text(one.metric, one.limit or 0.0)}"
    if one.metric == "recognised":  # how to count them is said above
        uncounted = "not counted yet" if RUN_EXPOSE in (one.reason or "") else ""
        found_people = uncounted if one.value is None else f"{percent(one.value)} of them"
        return LimitRow(head, one.status.value, found_people)
    if one.value is None:
        return LimitRow(head, one.status.value, one.reason or "")
    metric, limit = one.compared or one.metric, one.limit or 0.0
    low = None if one.low is None else bound_end_text(metric, low=one.low, limit=limit)
    high = None if one.high is None else bound_end_text(metric, high=one.high, limit=limit)
    bound = {
        RiskStatus.OVER: low and f" (at least {low})",
        RiskStatus.WITHIN: high and f" (at most {high})",
        RiskStatus.UNDECIDED: low and high and f" ({low} to {high})",
    }.get(one.status)
    found = [verdict for verdict in verdicts if (verdict.audit, verdict.label) == (one.audit, one.attacker)]
    who = f", {_named(found[0], verdicts)}" if found else ""
    how = " with a calibrated threshold" if one.metric == "accuracy" and metric in CALIBRATED else ""
    return LimitRow(head, one.status.value, f"{value_text(metric, one.value)}{how}{bound or ''}{who}")


def _recognised_answer(risk: Risk) -> Answer:
    limit = limit_text("recognised", risk.limit or 0.0)
    reason = () if risk.reason is None else (f"{risk.reason[0].upper()}{risk.reason[1:]}.",)
    if risk.value is None:
        return Answer("warn", "Risk undecided", reason)
    verb = {RiskStatus.OVER: "over", RiskStatus.WITHIN: "within"}.get(risk.status, "not decided against")
    text = f"{percent(risk.value)} of the people can be recognised: {verb} your limit of {limit}."
    tone, words = {
        RiskStatus.OVER: ("bad", "Risk over the limit"),
        RiskStatus.WITHIN: ("good", "Risk within the limit"),
    }.get(risk.status, ("warn", "Risk undecided"))
    return Answer(tone, words, (text, *reason))


def _violation(promise: PromiseSummary, verdicts: Sequence[Verdict]) -> str:
    found = next(
        verdict
        for verdict in verdicts
        if verdict.finding is Finding.VIOLATED
        and (verdict.audit, verdict.label) == (promise.audit, promise.attacker)
    )
    if found.certain and found.evidence:
        return f"Certain: {found.evidence[0]}"
    bound, stated = found.metrics["epsilon"].low, (found.promised or {}).get("epsilon")
    if bound is not None and stated is not None and bound > stated:
        shown = lower(bound, above=stated)
        return (
            f"The attack {_named(found, verdicts)} shows that ε is at least {shown}, but "
            f"ε = {number(stated)} was promised.{_rare_outputs(found)}{_clue(found)}"
        )
    if found.evidence:
        return f"The answers themselves show it, without an attack: {found.evidence[0]}"
    what = "the promised trade-off curve" if found.about == "curve" else "the promise"
    return f"The attack {_named(found, verdicts)} succeeds more often than {what} allows.{_clue(found)}"


def _clue(found: Verdict) -> str:
    """What gave people away, where the attack can say it."""
    return f" What gave people away: {whole_sentences(found.event, 200)}." if found.event else ""


def _above_promise(summary: RunSummary, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Why a promise is not called violated though some attacker was clearly above what it allows."""
    above = _best_above_promise(summary, verdicts, whole_interval=True)
    if above is None:
        return ()
    found, metric = above
    text = (
        f"The attack {_named(found, verdicts)} {above_promise_words(found, metric)}, but not by enough to be "
        f"sure: {not_sure_of_violation(found)}."
    )
    return (text,) if is_finished(found) else (text, f"More {round_term([found]).noun}s may decide.")


def _not_above_promise(summary: RunSummary, verdicts: Sequence[Verdict]) -> str:
    """That no attacker did better than the promise allows, or only by what chance may explain."""
    above = _best_above_promise(summary, verdicts, whole_interval=False)
    if above is None:
        return (
            "No attack tried did better than the promise allows. A stronger attack might: an audit can "
            "refute a promise, not prove it."
        )
    found, metric = above
    return (
        f"The best attack, {_named(found, verdicts)}, {above_promise_words(found, metric)}, but by no more "
        "than chance may explain. A stronger attack might show more: an audit can refute a promise, not "
        "prove it."
    )


def _best_above_promise(
    summary: RunSummary, verdicts: Sequence[Verdict], *, whole_interval: bool
) -> tuple[Verdict, str] | None:
    """The attacker that is above the promise, and by which number; of several the one that is right most."""
    above = [
        (verdict, metric)
        for verdict in verdicts
        if verdict.audit in summary.covers and not is_control(verdict)
        if (metric := metric_above_promise(verdict, whole_interval=whole_interval)) is not None
    ]

    def by_accuracy(entry: tuple[Verdict, str]) -> tuple[bool, float]:
        leading = leading_metric(entry[0].metrics)
        estimate = None if leading is None else entry[0].metrics[leading]
        end = None if estimate is None else estimate.low if whole_interval else estimate.value
        return entry[1] == leading, end or 0.0

    return max(above, key=by_accuracy, default=None)


def _rare_outputs(found: Verdict) -> str:
    """Why a promise is broken though the attacker is right no more often than it allows on average."""
    name, allowed = leading_metric(found.metrics), found.bounds.get("accuracy")
    value = None if name is None else found.metrics[name].value
    if value is None or allowed is None or value > allowed:
        return ""
    return " Some outputs reveal more than it allows, though the attacker's average success stays below."


def _named(found: Verdict, verdicts: Sequence[Verdict]) -> str:
    return adversary_names([found], verdicts)[0]


def _promise_worth(promise: PromiseSummary, noun: str, *, assumed: bool) -> tuple[str, ...]:
    """What the promise allows an attacker, where that is much; and to whom it promises less."""
    unit = _protected_unit(promise)
    epsilon = "no finite ε" if promise.epsilon is None else f"ε = {number(promise.epsilon)}"
    nominal = ""
    if promise.nominal_epsilon is not None and promise.nominal_unit != promise.unit:
        stated = UNIT_NAMES.get(promise.nominal_unit or "", promise.nominal_unit or "")
        source = "added up from" if promise.unit == Unit.GROUP else "assumed as" if assumed else "stated as"
        nominal = f", {source} ε = {number(promise.nominal_epsilon)} for {stated}"
    further = _least_protected(promise)
    if promise.allowed_accuracy is None or (promise.strength in (None, PromiseStrength.STRICT)):
        return (f"This is about {unit} ({epsilon}{nominal}).", *further) if further else ()
    if not promise.testable:
        text = (
            f"The promise to {unit} is so weak ({epsilon}{nominal}) that even certain identification would "
            f"not violate it. More {noun}s cannot help."
        )
        return (text, *further)
    allowed = allowed_percent(promise.allowed_accuracy)
    text = f"The promise to {unit} ({epsilon}{nominal}) allows an attacker to be right {allowed} of the time."
    return (text, *further)


def _protected_unit(promise: PromiseSummary) -> str:
    """Whom a promise is for; where people differ in how much is promised, which of them."""
    if promise.least_protected is None:
        return UNIT_NAMES.get(promise.unit or "", promise.unit or "one record")
    return (
        "the most active target"
        if promises_less(promise.epsilon, promise.least_protected)
        else ("the most active person of the data")
    )


def _least_protected(promise: PromiseSummary) -> tuple[str, ...]:
    """What is promised to the most active person of the data, where that is no target."""
    least = promise.least_protected
    if least is None or not promises_less(promise.epsilon, least):
        return ()
    return (least_protected_sentence(least),)


def promises_less(epsilon: float | None, least: Mapping[str, Any]) -> bool:
    """Whether less is promised to the most active person of the data than to the targets."""
    return epsilon is not None and (least["epsilon"] is None or least["epsilon"] > epsilon)


def least_protected_sentence(least: Mapping[str, Any]) -> str:
    """What is promised to the most active person of the data, who is no target.

    >>> least_protected_sentence({"epsilon": 3.0, "accuracy": 0.95257, "parts": 3})[-46:]
    'promises only ε = 3 (right 95.3% of the time).'
    """
    epsilon = "no finite ε" if least["epsilon"] is None else f"ε = {number(least['epsilon'])}"
    return (
        f"To the most active person of the data, who is not a target, it promises only {epsilon} (right "
        f"{allowed_percent(least['accuracy'])} of the time)."
    )


def finding_words(verdict: Verdict, accuracy_limit: float | None = None) -> tuple[str, str]:
    """The finding about one attacker as tone and words, the same in terminal, report and comment.

    A weak promise is never a good sign.
    """
    tone, words = _finding_words(verdict, accuracy_limit)
    if verdict.about != "mechanism":
        return tone, words
    return "warn" if tone in ("good", "neutral") else tone, f"{words}, not as stated"


def _finding_words(verdict: Verdict, accuracy_limit: float | None) -> tuple[str, str]:
    finding = verdict.finding
    if finding is None:
        return "neutral", "no promise"
    if finding in (Finding.VIOLATED, Finding.UNTESTABLE):
        return "bad", finding.value
    strength = verdict_strength(verdict, accuracy_limit)
    if strength is PromiseStrength.TOO_WEAK:
        return "bad", f"{finding.value}, too weak"
    if strength is PromiseStrength.WEAK:
        return "warn", f"{finding.value}, weak"
    return ("warn" if finding is Finding.UNDECIDED else "good"), finding.value


def _weak_tone(promise: PromiseSummary, at_best: str = "good") -> str:
    """Red for a promise that protects nobody, amber for a weak one."""
    if promise.strength is PromiseStrength.TOO_WEAK:
        return "bad"
    return "warn" if promise.strength is PromiseStrength.WEAK else at_best
