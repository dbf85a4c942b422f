"""The result of a search: what was confirmed, in numbers, in words and as files."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.limits import Limits
from leakgauge.parameter_search.assessment import SIMULATED, Assessment, search_seed
from leakgauge.parameter_search.dimensions import Dimension, Setting
from leakgauge.plan import Plan, plan_without_rounds, to_toml
from leakgauge.report import number_format
from leakgauge.report.answers import limit_text
from leakgauge.report.metric_text import value_text
from leakgauge.report.sections.risk_utility import utility_sentence, utility_value
from leakgauge.report.tune_page import RECOGNISED, bound_text, metric_title, write_tune_page
from leakgauge.risk import ANY_ATTACKER, ATTACKERS_TRIED, Risk, RiskStatus
from leakgauge.runner.manifest import names_people
from leakgauge.summary import RunSummary
from leakgauge.support import files
from leakgauge.support.toml_values import toml_text
from leakgauge.support.user_code import module_files, split_reference
from leakgauge.verdict import json_table

RESULT_FILE, PAGE_FILE, PLAN_FILE = "tune.json", "tune.html", "tuned-plan.toml"
QUESTION_FILE = "question.json"
SCHEMA = 1
_FOLDER_KEYS = ("folder", "adult")  # of `data`: they name folders; any key may name a file
_GENERATED = "synthetic"  # how sources begin that need no file
_ACCUSED = ("violated", "untestable")  # a promise that is broken, or that no attacker could test


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """A setting that was run with random numbers that the search did not use.

    Attributes:
        setting: The value of each varied key.
        confirmed: Whether the run showed that it is within the limits, and nothing against the promise.
        level: The confidence of this comparison by itself.
        rounds: How many releases were simulated.
        risk: The comparison with the limits.
        promise: Whether the promise is kept, in one word.
        reasons: What else the run could not decide, or found.
        folder: The run folder, below that of the search.
        utility: How useful the release is, where the run measured it.
    """

    setting: Setting
    confirmed: bool
    level: float
    rounds: int
    risk: Risk
    promise: str
    reasons: tuple[str, ...]
    folder: str
    utility: dict[str, float] | None = None

    @classmethod
    def of(
        cls,
        setting: Setting,
        summary: RunSummary,
        *,
        level: float,
        rounds: int,
        folder: str,
        utility: dict[str, float] | None = None,
    ) -> "Confirmation":
        """Read the answers of a run."""
        within = summary.risk.status is RiskStatus.WITHIN and summary.exit_code != 1
        return cls(
            setting=dict(setting),
            confirmed=within and summary.promise.status not in _ACCUSED,
            level=level,
            rounds=rounds,
            risk=summary.risk,
            promise=summary.promise.status,
            reasons=summary.reasons,
            folder=folder,
            utility=utility,
        )


@dataclass(frozen=True, kw_only=True)
class TuneResult:
    """The most useful settings that were confirmed to stay under the limits, or the closest ones.

    Attributes:
        audit: The name of the audit that was tuned.
        domain: The kind of release.
        limits: What the owner allows.
        dimensions: The varied keys, with the values that they may take.
        confidence: The confidence of the answer, over all settings that were tried.
        seed: The seed of the releases that confirm.
        confirmations: The settings that were run to be confirmed, in order.
        planned_confirmations: How many there would have been at most; the error is divided by this number.
        utility: How useful the confirmed setting is, by name.
        compared_by: The number on utility by which settings were compared.
        largest: The most useful setting below the limits by computation alone; None where it was simulated.
        useless: The best setting below the limits with all else as in the plan, where it is of no use.
        coarser: Coarser values of other keys that were tried because of that.
        closest: The setting of the search that comes closest to the limits from above, or is furthest below.
        alternatives: The most useful setting below the limits for each combination of the lists that were
            varied, by the search; the most useful first. Only the one above was confirmed.
        tried: All settings that the search assessed, the most useful first.
        untried: Values of the lists that the plan does not allow, each with the reason.
        is_monotone: Whether risk never rose on the way to the safe end of a key.
        plan: The plan to publish with; None where nothing was confirmed.
        folder: Where the files are.
    """

    audit: str
    domain: str
    limits: Limits
    dimensions: tuple[Dimension, ...]
    confidence: float
    seed: int
    confirmations: tuple[Confirmation, ...]
    planned_confirmations: int
    utility: dict[str, float] | None
    compared_by: str | None
    largest: Assessment | None
    useless: Assessment | None
    coarser: tuple[Setting, ...]
    closest: Assessment | None
    alternatives: tuple[Assessment, ...]
    tried: tuple[Assessment, ...]
    untried: tuple[tuple[Setting, str], ...]
    is_monotone: bool
    plan: Plan | None
    folder: Path

    @property
    def confirmed(self) -> Confirmation | None:
        """The setting that was confirmed, if any."""
        return next((one for one in self.confirmations if one.confirmed), None)

    @property
    def setting(self) -> Setting | None:
        """The confirmed value of each varied key."""
        return None if self.confirmed is None else self.confirmed.setting

    @property
    def exit_code(self) -> int:
        """0 where a setting was confirmed, else 3."""
        return 3 if self.confirmed is None else 0

    @property
    def plan_runs_in_place(self) -> bool:
        """Whether the plan runs from the folder of the search; else it must be copied beside its files."""
        return self.plan is None or moved_plan(self.plan, self.folder) is not None

    @property
    def lines(self) -> tuple[str, ...]:
        """The answer in plain sentences, the most important first."""
        return tuple(_answer(self)) + tuple(_remarks(self))

    def to_json(self) -> dict[str, Any]:
        """The content of `tune.json`."""
        confirmed = self.confirmed
        return {
            "schema": SCHEMA,
            "status": "confirmed" if confirmed else "not confirmed",
            "audit": self.audit,
            "domain": self.domain,
            "limits": self.limits.table(),
            "vary": [one.key for one in self.dimensions],
            "setting": None if confirmed is None else dict(confirmed.setting),
            "utility": self.utility,
            "compared_by": self.compared_by,
            "risk": None if confirmed is None else json_table(confirmed.risk),
            "confidence": self.confidence,
            "seed": self.seed,
            "search_seed": search_seed(self.seed),
            "confirmations": [json_table(one) for one in self.confirmations],
            "planned_confirmations": self.planned_confirmations,
            "largest": None if self.largest is None else asdict(self.largest),
            "useless": None if self.useless is None else asdict(self.useless),
            "coarser": [dict(setting) for setting in self.coarser],
            "closest": None if self.closest is None else asdict(self.closest),
            "alternatives": [asdict(one) for one in self.alternatives],
            "tried": [asdict(one) for one in self.tried],
            "untried": [{"setting": dict(setting), "reason": why} for setting, why in self.untried],
            "monotone": self.is_monotone,
            "lines": list(self.lines),
        }


def setting_text(setting: Setting) -> str:
    """A setting as a plan writes it.

    >>> setting_text({"mechanism.epsilon": 0.5, "data.grid": [5, 5]})
    'epsilon = 0.5, grid = [5, 5]'
    """
    return ", ".join(f"{key.rpartition('.')[2]} = {toml_text(value)}" for key, value in setting.items())


def _answer(result: TuneResult) -> list[str]:
    confirmed = result.confirmed
    if confirmed is None:
        return _no_answer(result)
    useful = utility_sentence(result.domain, result.utility) or _main_utility(result)
    first, _, others = useful.removesuffix(".").partition(", ")
    then = f"; {first}" if first else ""
    lines = [f"{_superlative(result, confirmed.setting)}{then}.", _risk_sentence(confirmed, result)]
    if others:
        lines.append(f"Utility: {useful}")
    return lines


def _main_utility(result: TuneResult) -> str:
    """The number by which settings were compared, where the domain has no sentence for it."""
    domain, name = catalog.get_domain(result.domain), result.compared_by
    if name is None or name not in (result.utility or {}):
        return ""
    term = domain.utility[name]
    return f"{term.title.lower()}: {utility_value(term, (result.utility or {})[name])}"


def _superlative(result: TuneResult, setting: Setting) -> str:
    """What was found, led by the number that was searched in a range."""
    words = {"smaller": "Largest", "larger": "Smallest"}
    ranges = [one for one in result.dimensions if one.is_range]
    if not ranges:
        return f"Most useful setting confirmed under your limit: {setting_text(setting)}"
    key, tunable = ranges[0].key, ranges[0].tunable
    others = {other: value for other, value in setting.items() if other != key}
    beside = f", with {setting_text(others)}" if others else ""
    return f"{words[tunable.safer]} {tunable.title} confirmed under your limit: {setting[key]:.15g}{beside}"


def _limits(result: TuneResult) -> str:
    stated = [
        f"{metric_title(name)} {limit_text(name, limit)}" for name, limit in result.limits.metrics.items()
    ]
    if (share := result.limits.recognised) is not None:
        stated.append(f"{metric_title(RECOGNISED)} {limit_text(RECOGNISED, share)}")
    return ", ".join(stated)


def _risk_sentence(one: Confirmation, result: TuneResult) -> str:
    risk, releases = one.risk, number_format.times(one.rounds, "simulated release")
    title, limit = metric_title(risk.metric or ""), limit_text(risk.metric or "", risk.limit or 0.0)
    most = bound_text(risk.metric or "", risk.high, risk.limit)
    if risk.metric == RECOGNISED:
        return f"Confirmed: {title} at most {most} (limit {limit}), computed for everybody in the data."
    if risk.scope == ANY_ATTACKER:
        return (
            f"Confirmed: {title} at most {most} (limit {limit}) by the best possible attack, computed from "
            f"the noise distribution for the target that it protects least. {releases} with new random "
            f"numbers did not contradict this.{_for_whom(result)}"
        )
    return (
        f"Confirmed with {_percent(result.confidence)} confidence: {title} at most {most} (limit {limit}) "
        f"by the strongest attacker tried, {risk.attacker}; {value_text(risk.metric or '', risk.value)} in "
        f"{releases} with new random numbers. A stronger attacker may do better.{_scope(risk)}"
        f"{_for_whom(result)}"
    )


def _for_whom(result: TuneResult) -> str:
    """Whom the risk is about, where others of the data may be more exposed than the targets."""
    if catalog.get_domain(result.domain).exposure is None:
        return ""
    who = "It is about the targets of the plan; others may be more exposed"
    return f" {who}: run leakgauge expose on the new plan."


def _scope(risk: Risk) -> str:
    """Where the comparison holds, if that is not everywhere."""
    return "" if risk.scope == ATTACKERS_TRIED else f" This is about {risk.scope}."


def _too_rough(result: TuneResult, one: Assessment) -> str:
    """How far off a typical number would be, beside the most that leaves it useful."""
    domain, known = catalog.get_domain(result.domain), one.utility or {}
    pairs = ((domain.utility[name], known[name]) for name in domain.useful_if_below or ())
    (error, value), (largest, most) = pairs
    return (
        f"{setting_text(one.setting)} is under your limit ({_limits(result)}), but of no use: "
        f"{error.title.lower()} {utility_value(error, value)}, {largest.title.lower()} "
        f"{utility_value(largest, most)} ({largest.meaning})"
    )


def _coarsest(result: TuneResult) -> str:
    """The coarsest values that were tried, all of them together."""
    return setting_text({key: value for setting in result.coarser for key, value in setting.items()})


def _no_answer(result: TuneResult) -> list[str]:
    if not result.confirmations and result.useless is not None:
        coarsest = f" Nor is it with {_coarsest(result)}, or less coarse." if result.coarser else ""
        ways = (
            "Count in larger places and longer periods, count more people or fewer visits of each, leave the "
            "table unpublished, or raise the limit."
        )
        return [
            "No useful setting was found under your limit, so there is no plan to publish with.",
            f"{_too_rough(result, result.useless)}.{coarsest}",
            ways,
        ]
    lines = [f"No setting could be confirmed to stay under your limit ({_limits(result)})."]
    if result.confirmations:
        last = result.confirmations[-1]
        lines.append(f"Closest: {setting_text(last.setting)}. {_why_not(last)}")
    elif (one := result.closest) is not None:
        at_most, value = ("at most ", one.value + one.error) if one.basis == SIMULATED else ("", one.value)
        lines.append(
            f"Closest: {setting_text(one.setting)}, with {metric_title(one.metric)} {at_most}"
            f"{value_text(one.metric, min(1.0, value))} (limit {limit_text(one.metric, one.limit)})."
        )
    lines.append("Vary other keys, raise the limit, or simulate more releases (--rounds).")
    return lines


def _why_not(one: Confirmation) -> str:
    """Why the run of a setting did not confirm it."""
    reasons = ("; ".join(one.reasons) or one.risk.reason or one.risk.status.value).removesuffix(".")
    if one.risk.status is RiskStatus.WITHIN:
        return f"Its run is within the limit, but: {reasons}."
    metric = one.risk.metric or ""
    most = "" if one.risk.high is None else f", at most {value_text(metric, one.risk.high)}"
    value = (
        ""
        if one.risk.value is None
        else f" {metric_title(metric)} {value_text(metric, one.risk.value)}{most};"
    )
    return f"Its run gave{value} {reasons}."


def _remarks(result: TuneResult) -> list[str]:
    lines, confirmed = [], result.confirmed
    if result.confirmations and result.useless is not None:
        rough = _too_rough(result, result.useless)
        lines.append(f"A coarser table was searched for, because with the noise alone varied {rough}.")
    if result.planned_confirmations > 1:
        n_tried = len(result.confirmations)
        lines.append(
            f"Up to {result.planned_confirmations} settings were to be tried with new random numbers "
            f"({n_tried} {'was' if n_tried == 1 else 'were'}), each at "
            f"{_percent(result.confirmations[0].level)}, so that the answer holds with "
            f"{_percent(result.confidence)}."
        )
    largest = result.largest
    if confirmed is not None and largest is not None and largest.setting != dict(confirmed.setting):
        lines.append(
            f"By computation alone, the attackers of the plan stay under the limit up to "
            f"{setting_text(largest.setting)}. {_why_smaller(confirmed)}, and with few of them it has to be "
            "clearly below the limit before that can be shown: more of them (--rounds) may confirm a setting "
            "closer to that."
        )
    if len(result.alternatives) > 1:
        each = "; ".join(_alternative(one, result) for one in result.alternatives)
        lines.append(f"Under the limit by the search, of which only the setting above was confirmed: {each}.")
    lines += [f"Not tried: {setting_text(setting)}, because {why}." for setting, why in result.untried]
    if confirmed is not None and _at_useful_end(result, confirmed.setting):
        lines.append(
            "This is the end of the range that was tried: values beyond it may be under your limit too."
        )
    if not result.is_monotone:
        lines.append(
            "Risk did not fall steadily towards safer values, so a more useful setting may have been missed. "
            "The setting above was checked itself."
        )
    if confirmed is not None and confirmed.reasons:
        lines.append(f"About the promise, its run says: {'; '.join(confirmed.reasons)}.")
    return lines


def _why_smaller(one: Confirmation) -> str:
    """Why the confirmed setting is safer than the attackers of the plan require."""
    if one.risk.scope == ANY_ATTACKER:
        return "The confirmed setting holds for every attacker. Any other rests on simulated releases"
    return "The confirmed setting rests on simulated releases"


def _alternative(one: Assessment, result: TuneResult) -> str:
    """A setting with the number on utility by which settings were compared."""
    name = result.compared_by
    if name is None or one.utility is None or name not in one.utility:
        return setting_text(one.setting)
    term = catalog.get_domain(result.domain).utility[name]
    return f"{setting_text(one.setting)} ({term.title.lower()} {utility_value(term, one.utility[name])})"


def _at_useful_end(result: TuneResult, setting: Setting) -> bool:
    """Whether a number that was varied is at the useful end of its range."""
    return any(setting[one.key] == one.useful_end for one in result.dimensions if one.is_range)


def _percent(share: float) -> str:
    """A confidence as a percentage.

    >>> _percent(0.95), _percent(1 - 0.05 / 3)
    ('95%', '98.3%')
    """
    return f"{100 * share:.3g}%"


def question_of(plan: Plan, keys: list[str]) -> str:
    """A digest of what was asked: a folder answers one question, because its releases were seen."""
    asked = {**plan_without_rounds(plan), "rounds": plan.audits[0].rounds}
    return files.json_digest({**asked, "limits": plan.limits.table(), "vary": keys})


def write_question(folder: Path, question: str) -> None:
    """Write what is asked before the first release that counts, so that the search can be continued."""
    files.write_json(folder / QUESTION_FILE, {"question": question})


def read_question(folder: Path) -> str | None:
    """What the search in a folder was asked; nothing where there is none."""
    path = folder / QUESTION_FILE
    try:
        return str(json.loads(path.read_bytes())["question"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{path}: damaged; remove the folder, or choose another --out") from None


def write_result(result: TuneResult) -> None:
    """Write tune.json, tune.html and, where a setting was confirmed, tuned-plan.toml."""
    content, folder = result.to_json(), result.folder
    if result.plan is not None:
        text = _plan_comment(result) + to_toml(moved_plan(result.plan, folder) or result.plan)
        files.write_file(folder / PLAN_FILE, text.encode(), private=names_people(result.plan))
    write_tune_page(json.loads(json.dumps(content, default=str)), folder / PAGE_FILE)
    files.write_json(folder / RESULT_FILE, content)


def _plan_comment(result: TuneResult) -> str:
    """What was confirmed, as comments above the plan."""
    assert result.plan is not None
    source = "" if result.plan.path is None else f" from {result.plan.path.name}"
    lines = [
        f"Made by leakgauge tune{source}.",
        "Paths in it start in this folder."
        if result.plan_runs_in_place
        else "It names files that are looked for beside it: copy it to the folder of that plan.",
        *result.lines,
        "A run of this plan simulates the same releases as the run that confirmed it.",
    ]
    return "".join(f"# {line}\n" for line in lines)


def moved_plan(plan: Plan, folder: Path) -> Plan | None:
    """The plan as a file in another folder writes it, with paths from there.

    None where it names Python files, which are found beside a plan only, or files without their path.
    """
    if folder.resolve() == plan.folder:
        return plan
    (audit,) = plan.audits
    if any(_is_code(text, plan.folder) for text in _texts(asdict(audit))):
        return None
    data = _moved_paths(audit.data, plan.folder, folder)
    is_generated = str(audit.data.get("source", _GENERATED)).startswith(_GENERATED)
    is_absolute = any(Path(text).is_absolute() for text in _texts(data))
    if data == audit.data and not (is_generated or is_absolute):
        return None  # a published data set whose files are beside the plan
    return replace(plan, audits=(replace(audit, data=data),))


def _moved_paths(table: dict[str, Any], old: Path, new: Path) -> dict[str, Any]:
    moved = dict(table)
    for key, value in table.items():
        if isinstance(value, dict):
            moved[key] = _moved_paths(value, old, new)
        elif isinstance(value, str) and not Path(value).is_absolute() and _is_path(key, value, table, old):
            moved[key] = files.relative_path(old / value, new)
    return moved


def _is_path(key: str, value: str, table: dict[str, Any], folder: Path) -> bool:
    """Whether a value names files or a folder, not a column or a data set."""
    path = folder / value
    if path.is_dir():
        return key in _FOLDER_KEYS or (key == "source" and "format" in table)
    return bool(path.suffix) and (path.is_file() or ("*" in value and any(path.parent.glob(path.name))))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from _texts(one)
        case list() | tuple():
            for one in value:
                yield from _texts(one)


def _is_code(text: str, folder: Path) -> bool:
    """Whether a text is "module:name" of a Python file beside the plan."""
    parts = split_reference(text)
    return parts is not None and any(file.is_file() for file in module_files(folder, parts[0]))
