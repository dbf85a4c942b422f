"""What a release pipeline reads: a JUnit file, and a comment in Markdown."""

from collections.abc import Sequence
from xml.etree import ElementTree

from leakgauge import catalog
from leakgauge.report.answers import limit_rows, limit_text
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.number_format import number, percent
from leakgauge.report.text_formats import markdown_text, plain_markdown
from leakgauge.risk import RiskStatus
from leakgauge.runner.baseline import TOLERANCE, BaselineComparison, BaselineResult
from leakgauge.summary import RunResult
from leakgauge.support.visible_text import visible_line
from leakgauge.verdict import Finding, Verdict, why_not_compared, why_untestable


def junit_text(result: RunResult, comparisons: Sequence[BaselineComparison] = ()) -> str:
    """Write one test case for the promise and one for the risk of each attacker.

    Where several limits are stated, each of them has a case too. A violated promise or a limit that is
    exceeded is a failure; what could not be decided is an error. A promise that no number of rounds could
    test is a skipped test: whether that stops the release is up to the limits, and the case of the gate says
    so.
    """
    suite = ElementTree.Element("testsuite", name="leakgauge")
    for verdict in result.verdicts:
        if verdict.audit not in result.summary.covers:
            continue
        if verdict.finding is not None or verdict.about == "mechanism":
            problem = _finding_problem(verdict)
            _add_case(suite, f"promise: {verdict.audit}, {verdict.label}", problem)
        if verdict.risk is not None and verdict.risk.status is not RiskStatus.NO_LIMIT:
            _add_case(suite, f"risk: {verdict.audit}, {verdict.label}", _risk_problem(verdict))
    for one, row in zip(result.summary.limit_results, limit_rows(result.summary, result.verdicts)):
        if one.metric != "recognised":  # which has a case by itself
            kind = {RiskStatus.OVER: "failure", RiskStatus.UNDECIDED: "error"}.get(one.status)
            _add_case(suite, f"limit: {one.metric}", None if kind is None else (kind, row.text))
    if (recognised := result.summary.recognised) is not None:
        kind = {RiskStatus.OVER: "failure", RiskStatus.UNDECIDED: "error"}.get(recognised.status)
        said = f"{'unknown' if recognised.value is None else percent(recognised.value)} of the people"
        text = f"{recognised.status.value}: {recognised.reason or said}"
        _add_case(suite, "risk: people recognised", None if kind is None else (kind, text))
    for comparison in comparisons:
        problem = None
        if comparison.status != "not worse":
            kind = "failure" if comparison.status == "worse" else "error"
            problem = (kind, f"{comparison.status}: {change_text(comparison)}")
        _add_case(suite, f"baseline: {comparison.audit}, {comparison.label}", problem)
    gate = _gate_problem(result)
    _add_case(suite, "gate", gate)
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ElementTree.Element, name: str, problem: tuple[str, str] | None) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname="leakgauge", name=visible_line(name))
    if problem is not None:
        ElementTree.SubElement(case, problem[0], message=visible_line(problem[1]))


def _finding_problem(verdict: Verdict) -> tuple[str, str] | None:
    said = f": {' '.join(verdict.evidence)}" if verdict.evidence else ""
    if verdict.about == "mechanism":
        return "error", f"the mechanism is not as stated{said}"
    match verdict.finding:
        case Finding.VIOLATED:
            return "failure", f"the promise is violated{', for certain' if verdict.certain else ''}{said}"
        case Finding.UNTESTABLE:
            return "error", (
                why_untestable(verdict) or "no attacker recognised anybody even in the positive control"
            )
        case Finding.UNDECIDED if verdict.rounds_needed is not None:
            return "error", f"too few rounds; {verdict.rounds_needed:,} could show a violation"
        case Finding.UNDECIDED if (reason := why_not_compared(verdict)) is not None:
            return "error", f"the promise was not tested: {reason}"
        case Finding.UNDECIDED:
            return (
                "skipped",
                "the promise is too weak to test: even certain identification would not violate it",
            )
    return None


def _risk_problem(verdict: Verdict) -> tuple[str, str] | None:
    risk = verdict.risk
    if risk is None or risk.status is RiskStatus.WITHIN or risk.metric is None:
        return None
    title = catalog.metric_descriptions()[risk.metric].title_in_sentence
    text = f"{title} {_value(risk.metric, risk.value)}, limit {limit_text(risk.metric, risk.limit or 0.0)}"
    if risk.status is RiskStatus.OVER:
        return "failure", f"over the limit: {text}"
    return "error", f"undecided: {text}; {risk.reason}"


def _gate_problem(result: RunResult) -> tuple[str, str] | None:
    code = result.summary.exit_code
    kind = "failure" if code == 1 else "error"
    return None if code == 0 else (kind, "; ".join(result.summary.reasons))


def _value(metric: str, value: float | None) -> str:
    return percent(value) if catalog.metric_descriptions()[metric].is_share else number(value)


def change_text(comparison: BaselineComparison) -> str:
    """How much the accuracy of an attacker changed, with its interval."""
    difference = comparison.difference
    if comparison.reason is not None:
        return comparison.reason
    if difference.value is None or difference.low is None or difference.high is None:
        return "too few rounds to say how accuracy changed"
    low, value, high = (f"{100 * end:+.1f}" for end in (difference.low, difference.value, difference.high))
    tolerated = f"{100 * TOLERANCE:g} more are tolerated"
    return f"accuracy changed by {value} percentage points ({low} to {high}; {tolerated})"


def baseline_lines(compared: BaselineResult) -> list[str]:
    """What the comparison with a baseline says: in what the plans differ, and every attacker."""
    lines = [f"Baseline: {note}" for note in compared.notes]
    for comparison in compared.comparisons:
        who = f"{comparison.audit}, {comparison.label}"
        lines.append(f"Baseline, {who}: {comparison.status}; {change_text(comparison)}")
    return lines


NO_BASELINE = BaselineResult()


def gate_comment(run: JudgedRun, compared: BaselineResult = NO_BASELINE) -> str:
    """Write the report in Markdown, with warnings, the reasons for the exit code and the baseline."""
    code = run.summary.exit_code
    lines = [f"- Warning: {plain_markdown(warning)}." for warning in run.summary.warnings]
    lines += [f"- Exit code {code}: {plain_markdown(reason)}." for reason in run.summary.reasons]
    lines += [f"- Besides: {plain_markdown(other)}." for other in run.summary.besides]
    lines += [f"- {plain_markdown(line)}." for line in baseline_lines(compared)]
    return "\n".join([markdown_text(run), *lines]).rstrip() + "\n"
