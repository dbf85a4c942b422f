"""``leakgauge.tune``: search on some seeds, confirm on others, and write the plan to publish with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leakgauge import api, catalog
from leakgauge.core.domain import Domain
from leakgauge.core.errors import ANOTHER_OUT, BadInput
from leakgauge.limits import Limits, read_limits
from leakgauge.parameter_search.assessment import Assessment, RiskAssessor
from leakgauge.parameter_search.dimensions import (
    Dimension,
    Setting,
    coarser_steps,
    find_audit,
    find_dimensions,
    varied_keys,
    with_setting,
)
from leakgauge.parameter_search.result import (
    Confirmation,
    TuneResult,
    question_of,
    read_question,
    write_question,
    write_result,
)
from leakgauge.parameter_search.search import (
    COMPUTED_EFFORT,
    SIMULATED_EFFORT,
    Assess,
    ParameterSearch,
    usefulness,
)
from leakgauge.plan import Audit, Plan, check_limits
from leakgauge.runner.engines import check_engine, open_engine
from leakgauge.support.files import path_argument
from leakgauge.support.progress import Advance, listen_to_progress, progress_bar
from leakgauge.support.table_reader import convert_value
from leakgauge.support.threads import single_threaded

MOST_CONFIRMED = 3  # settings that are tried with new seeds, each at an equal share of the error
SAFER_STEP = 0.8  # ratio of a number to the next safer one that is tried
_SLACKS = (0.5, 1.25)  # widths of a bound by which a setting is chosen below the limit
_STEPS = 60  # of the progress bar; about as many settings are assessed

NO_LIMIT = (
    "no limit is stated, so there is nothing to stay under; add --limit accuracy=0.6, --policy FILE, or the "
    "table [limits] with a line such as accuracy = 0.6 to the plan (in Python: limits={'accuracy': 0.6})"
)


def tune(
    plan: str | Path | Plan | Mapping[str, Any],
    *,
    limits: Limits | Mapping[str, Any] | None = None,
    vary: Sequence[str] | None = None,
    audit: str | None = None,
    rounds: int | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
    workers: int = 1,
) -> TuneResult:
    """Find the most useful settings of a plan whose strongest attacker stays under your limit.

    Settings are searched by computation where the noise distribution is known, else by simulated releases.
    What was found is confirmed by a run with random numbers that the search did not use. Up to three settings
    are tried, each safer than the one before, and the error is divided by their number, so the answer holds
    with the confidence of the plan.

    Args:
        plan: The path of a plan file, a `Plan`, or a dict of the same shape as a plan file.
        limits: What you allow, as `Limits` or as a dict such as {"accuracy": 0.6}; the limits of the plan
            unless given.
        vary: The keys to vary, such as ["mechanism.epsilon"]; those that the domain proposes unless given.
        audit: The name of the audit to tune, where the plan has several.
        rounds: How many releases are simulated to confirm a setting; as many as in the plan unless given.
        out: A folder for `tune.json`, `tune.html`, `tuned-plan.toml` and the runs that confirm. The default
            is the folder of a run of the plan with `-tune` added.
        seed: The seed of all random numbers, instead of the one in the plan.
        workers: How many blocks of releases are simulated at the same time.

    Returns:
        The setting that was confirmed with its risk and utility, or the closest one, and all that was tried.

    Raises:
        BadInput: If plan, limits, keys or folder cannot be used; the message says what to change.
    """
    check_engine("local", workers, None)
    stated = with_limits(api.as_plan(plan, seed), limits)
    single, dimensions = _prepare(stated, vary, convert_value(str | None, audit, "audit"), rounds)
    folder = _folder(stated, out)
    question = question_of(single, [one.key for one in dimensions])
    _refuse_other_question(folder, question)
    found = _search_with_workers(single, dimensions, workers, coarsen=vary is None)
    write_question(folder, question)
    confirmed = _confirm(found.searches.ladder, single, folder, workers)
    result = _result(found, confirmed, single, folder)
    write_result(result)
    return result


def _search_with_workers(
    plan: Plan, dimensions: tuple[Dimension, ...], workers: int, *, coarsen: bool
) -> "_Found":
    """Search with a progress bar."""
    with (
        open_engine("local", workers) as engine,
        progress_bar(_STEPS, unit="settings") as advance,
        single_threaded(),
        listen_to_progress(lambda message: advance(message, 0)),
    ):
        assessor = RiskAssessor(
            plan=plan,
            audit=plan.audits[0],
            confidence=1 - _error(plan) / MOST_CONFIRMED,
            engine=engine,
            show_message=lambda message: advance(message, 0),
        )
        return _search(assessor, dimensions, coarsen=coarsen, advance=advance)


def with_limits(plan: Plan, limits: Limits | Mapping[str, Any] | None) -> Plan:
    """The plan with other limits; refuse a plan without any."""
    if limits is not None and not isinstance(limits, Limits):
        limits = read_limits(limits, "limits")
    plan = plan if limits is None else replace(plan, limits=limits)
    if not plan.limits.any_stated:
        raise BadInput(NO_LIMIT)
    return plan


def _prepare(
    plan: Plan, vary: Sequence[str] | None, name: str | None, rounds: int | None
) -> tuple[Plan, tuple[Dimension, ...]]:
    """The plan of the one audit that is tuned, and the keys that are varied in it."""
    domains = {audit.domain for audit in plan.audits if name is None or _same_base(audit, name)}
    domain = catalog.get_domain(min(domains or {audit.domain for audit in plan.audits}))
    keys = varied_keys(domain, plan, None if vary is None else convert_value(tuple[str, ...], vary, "vary"))
    audit = find_audit(plan, name, keys)
    domain = catalog.get_domain(audit.domain)
    dimensions = find_dimensions(domain, audit, keys)
    if rounds is not None:
        if not 1 <= convert_value(int, rounds, "rounds") <= 10**9:
            raise BadInput(f"rounds must be in 1..10^9, got {rounds}; the plan has {audit.rounds}")
        audit = replace(audit, rounds=rounds)
    single = replace(plan, audits=(audit,), publish=None, path=plan.path)
    check_limits(single)
    with catalog.audit_error_context(audit, single):
        challenger = catalog.build_challenger(audit, single, audit.contenders)
        if challenger.request_limits is not None:
            raise BadInput("tune would question your service again and again; tune a plan without service")
        if single.limits.recognised is not None and not _counts_people(domain):
            raise BadInput("limits.recognised: people are not counted by computation here; limit accuracy")
    return single, dimensions


def _same_base(audit: Audit, name: str) -> bool:
    return audit.name.partition("@")[0] == name.partition("@")[0]


def _counts_people(domain: Domain) -> bool:
    return domain.exposure is not None and domain.exposure.computed is not None


def _error(plan: Plan) -> float:
    return 1 - plan.audits[0].metrics.confidence


def _folder(plan: Plan, out: str | Path | None) -> Path:
    if out is not None:
        return path_argument(out, "out")
    usual = api.default_folder(plan)
    return usual.with_name(f"{usual.name}-tune")


def _refuse_other_question(folder: Path, question: str) -> None:
    """Refuse a folder of another search: its rounds were seen, so they can confirm nothing new."""
    asked = read_question(folder)
    if asked is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise BadInput(f"{folder}: not empty and not a folder of tune; {ANOTHER_OUT}")
    elif asked != question:
        raise BadInput(
            f"{folder} holds the result of another search; {ANOTHER_OUT}, and, where you saw its result, "
            "another --seed: releases that were seen confirm nothing new"
        )


class _Searches:
    """The searches over the same keys: by the noise, by the success of these attackers, or by simulation."""

    def __init__(self, assessor: RiskAssessor, dimensions: tuple[Dimension, ...], advance: Advance) -> None:
        self.assessor, self.dimensions = assessor, dimensions
        self.domain = domain = catalog.get_domain(assessor.audit.domain)
        prefer = usefulness(dimensions, _compared_by(domain, dimensions), domain)

        def search_by(assess: Assess, effort: Any) -> ParameterSearch:
            def counted(setting: Setting) -> Assessment | None:
                text = ", ".join(f"{key.rpartition('.')[2]} = {value}" for key, value in setting.items())
                advance(f"search: {text}", 1)
                return assess(setting)

            return ParameterSearch(dimensions, counted, prefer, effort)

        self.for_any = search_by(assessor.for_any_attacker, COMPUTED_EFFORT)
        self.computed = search_by(assessor.for_these_attackers, COMPUTED_EFFORT)
        self.safest, self.largest = self.for_any.best(), self.computed.best()
        self.simulated = None
        if not self.for_any.tried and not self.computed.tried:
            self.simulated = search_by(assessor.simulate, SIMULATED_EFFORT)
            self.largest = self.simulated.best()
        self.shown = self.simulated or (self.computed if self.computed.tried else self.for_any)
        self.best = max(filter(None, (self.safest, self.largest)), key=prefer, default=None)
        ladder = self._all_to_confirm()
        self.ladder = [one for one in ladder if domain.is_useful(one.utility)]  # in order
        self.useless = ladder[-1] if ladder and not self.ladder else None

    def _all_to_confirm(self) -> list[Assessment]:
        """The settings to confirm, whether they are of use or not."""
        computed, safest, largest = self.computed, self.safest, self.largest
        if self.best is None or not self.domain.is_useful(self.best.utility):
            return [] if self.best is None else [self.best]
        if self.simulated is not None:
            return _simulated_ladder(self.simulated, self.dimensions, largest)
        ladder: list[Assessment] = []
        if largest is not None and (safest is None or computed.prefer(largest) > computed.prefer(safest)):
            ladder += _below_the_limit(self.assessor, computed, largest)
        if safest is not None:
            ladder = [one for one in ladder if computed.prefer(one) > computed.prefer(safest)]
            ladder.append(safest)
        return ladder


@dataclass(frozen=True, eq=False, kw_only=True)
class _Found:
    """What a search found: the settings to confirm, in order, and everything that was tried."""

    searches: _Searches
    useless: Assessment | None  # the best setting with all else as in the plan, where it is of no use
    coarser: list[Setting]  # coarser values of other keys that were tried then


def _search(
    assessor: RiskAssessor, dimensions: tuple[Dimension, ...], *, coarsen: bool, advance: Advance
) -> _Found:
    """Choose the settings to confirm, without a look at the rounds that will confirm them.

    Where nothing under the limit is of use, the least coarse of ever coarser tables is taken of which
    something is; halving finds it, if use grows with each step.
    """
    searches = first = _Searches(assessor, dimensions, advance)
    coarser: list[Setting] = []
    if coarsen and not first.ladder:
        steps = coarser_steps(first.domain, assessor.audit)
        low, high = 0, len(steps)
        while low < high:
            middle = (low + high) // 2
            coarser.append({one.key: one.values[0] for one in steps[middle]})
            tried = _Searches(assessor, (*dimensions, *steps[middle]), advance)
            if tried.ladder:
                searches, high = tried, middle
            else:
                low = middle + 1
    if searches.shown is searches.simulated and not searches.shown.tried:
        reasons = (why for _, why in searches.shown.impossible.values())
        raise BadInput(f"no setting can be tried: {next(reasons, 'none is left')}")
    return _Found(
        searches=searches,
        useless=first.useless,
        coarser=coarser,
    )


def _below_the_limit(
    assessor: RiskAssessor, computed: ParameterSearch, largest: Assessment
) -> list[Assessment]:
    """Settings so far below the limit that as many releases as planned will probably show it."""
    if not assessor.limits.metrics:
        return [largest]
    pilot = assessor.simulate(largest.setting)
    chosen: list[Assessment] = []
    for slack in _SLACKS:
        found = computed.best(max(0.0, pilot.rate_excess + slack * pilot.error))
        if found is not None and found.setting not in [one.setting for one in chosen]:
            chosen.append(found)
    return chosen


def _simulated_ladder(
    search: ParameterSearch, dimensions: tuple[Dimension, ...], best: Assessment | None
) -> list[Assessment]:
    """The best setting by simulated releases; then steps to safer ones, should the first not be confirmed."""
    if best is None:
        return []
    ladder, ranges = [best], [one for one in dimensions if one.is_range]
    while ranges and len(ladder) < MOST_CONFIRMED:
        (dimension,) = ranges
        last = ladder[-1]
        value = _safer(dimension, float(last.setting[dimension.key]))
        if value is None:
            break
        ladder.append(replace(last, setting={**last.setting, dimension.key: value}))
    if not ranges:
        less = [one for one in search.tried.values() if one.excess < best.excess]
        ladder += sorted(less, key=search.prefer, reverse=True)[: MOST_CONFIRMED - 1]
    return ladder


def _safer(dimension: Dimension, value: float) -> float | None:
    """The next safer number; nothing beyond the safe end."""
    smaller = dimension.tunable.safer == "smaller"
    step = dimension.rounded(value * SAFER_STEP if smaller else value / SAFER_STEP)
    low, high = dimension.ends
    return step if low <= step <= high else None


def _compared_by(domain: Domain, dimensions: Sequence[Dimension]) -> str | None:
    """The number on utility by which settings are compared."""
    asked = [one.tunable.compare_by for one in dimensions if one.tunable.compare_by]
    return next(iter(asked or domain.main_utility), None)


def _confirm(ladder: Sequence[Assessment], plan: Plan, folder: Path, workers: int) -> list[Confirmation]:
    """Run the settings one after the other with new random numbers, until one is within the limits.

    Which settings these are was decided before the first of them is run, so each has an equal share of the
    error.
    """
    confirmations: list[Confirmation] = []
    n = len(ladder)
    for number, candidate in enumerate(ladder, start=1):
        level = 1 - _error(plan) / n
        audit = with_setting(plan.audits[0], candidate.setting)
        audit = replace(audit, metrics=replace(audit.metrics, confidence=level))
        tried, place = _of_python(plan, audit), folder / f"confirmation-{number}"
        if plan.limits.recognised is not None:
            api.expose(tried, out=place)
        result = api.run(tried, out=place, workers=workers)
        confirmations.append(
            Confirmation.of(
                candidate.setting,
                result.summary,
                level=level,
                rounds=audit.rounds,
                folder=place.name,
                utility=next((one.utility for one in result.verdicts if one.utility), None),
            )
        )
        if confirmations[-1].confirmed:
            break
    return confirmations


def _of_python(plan: Plan, audit: Audit) -> Plan:
    """A plan of one audit whose text is not that of the user's file."""
    return replace(plan, audits=(audit,), path=None, text=None)


def _result(found: _Found, confirmations: list[Confirmation], plan: Plan, folder: Path) -> TuneResult:
    confirmed = next((one for one in confirmations if one.confirmed), None)
    searches, audit = found.searches, plan.audits[0]
    shown, domain = searches.shown, catalog.get_domain(audit.domain)
    tuned = None
    if confirmed is not None:
        tuned = replace(plan, audits=(with_setting(audit, confirmed.setting),), text=None)
    utilities = {repr(one.setting): one.utility for one in (*searches.ladder, *shown.tried.values())}
    computed = searches.largest or searches.safest
    return TuneResult(
        audit=audit.name,
        domain=audit.domain,
        limits=plan.limits,
        dimensions=searches.dimensions,
        confidence=audit.metrics.confidence,
        seed=plan.seed,
        confirmations=tuple(confirmations),
        planned_confirmations=len(searches.ladder),
        utility=None if confirmed is None else confirmed.utility or utilities.get(repr(confirmed.setting)),
        compared_by=_compared_by(domain, searches.dimensions),
        largest=computed if searches.simulated is None else None,
        useless=found.useless,
        coarser=tuple(found.coarser),
        closest=shown.closest(),
        alternatives=tuple(sorted(_alternatives(searches), key=shown.prefer, reverse=True)),
        tried=tuple(sorted(shown.tried.values(), key=shown.prefer, reverse=True)),
        untried=tuple(shown.untried()),
        is_monotone=shown.is_monotone,
        plan=tuned,
        folder=folder,
    )


def _alternatives(searches: _Searches) -> list[Assessment]:
    """The best for each combination of the lists."""
    if searches.simulated is not None:
        return searches.simulated.best_of_each()
    return searches.for_any.best_of_each() or searches.computed.best_of_each()
