"""A run with its verdicts, as a report shows it, and which of its verdicts come first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leakgauge import catalog
from leakgauge.core.domain import Domain, RoundTerm
from leakgauge.referee.metric_evaluation import is_of_one_release
from leakgauge.report.adversary_names import attackers_and_settings, clip
from leakgauge.report.number_format import times
from leakgauge.summary import RunSummary, summarise_run
from leakgauge.verdict import Finding, Verdict

TITLE = "What does this release leak?"
_SEVERITY = {
    Finding.VIOLATED: 0,
    Finding.UNTESTABLE: 1,
    Finding.UNDECIDED: 2,
    None: 3,
    Finding.NOT_VIOLATED: 4,
}


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The verdicts of a run and its manifest; of the latter, any entry may be missing."""

    verdicts: Sequence[Verdict]
    manifest: Mapping[str, Any]

    @cached_property
    def summary(self) -> RunSummary:
        """The two answers of the run; without limits where none were recorded."""
        given: RunSummary | None = self.manifest.get("summary")
        return given or summarise_run(self.verdicts)

    @property
    def without_plan(self) -> bool:
        """Whether the result is that of a Python call, so that advice must not speak of a plan."""
        return bool(self.manifest.get("without_plan"))


def report_title(run: JudgedRun) -> str:
    """The title that the plan gives, or a general one."""
    return clip(run.manifest.get("title") or TITLE, 120)


def report_origin(run: JudgedRun) -> str:
    """Whose release this is, which one, when it was judged, and what was tried."""
    known = [(name.capitalize(), run.manifest.get(name)) for name in ("owner", "release", "date")]
    given = [f"{name}: {clip(value, 80)}" for name, value in known if value]
    return " · ".join([*given, _lead(run.verdicts)])


def is_finished(verdict: Verdict) -> bool:
    """Whether a verdict is about a release that there is, such as a model, and not about simulated ones."""
    return verdict.rounds == 1 and any(is_of_one_release(answer) for answer in verdict.metrics.values())


def most_severe(verdicts: Sequence[Verdict], most: int) -> list[Verdict]:
    """The most severe verdicts, and of equals those with the largest epsilon; in the order of the plan."""
    if len(verdicts) <= most:
        return list(verdicts)
    kept = sorted(range(len(verdicts)), key=lambda place: _severity(verdicts[place]))[:most]
    return [verdicts[place] for place in sorted(kept)]


def severest_first(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """All verdicts, the most severe first."""
    return sorted(verdicts, key=_severity)


def by_audit(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """The verdicts of each audit, in the order of the plan."""
    audits: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        audits.setdefault(verdict.audit, []).append(verdict)
    return audits


def domains_of(verdicts: Sequence[Verdict]) -> list[Domain]:
    """The domains of the verdicts, each once; scores that were computed elsewhere have none."""
    domains = (catalog.find_domain(name) for name in sorted({verdict.domain for verdict in verdicts}))
    return [domain for domain in domains if domain is not None]


_ROUND_OF_SCORES = RoundTerm(
    noun="round",
    short="round",
    meaning="Scores that come from one release: rows with the same entry in the column round, else each row",
    more="Bring scores of more rounds",
    game="Another tool gave members and non-members these scores; a higher one means more likely a member.",
)


def round_term(verdicts: Sequence[Verdict]) -> RoundTerm:
    """What a round of these verdicts is called; where they differ, the general word.

    Verdicts without a domain are about scores of another tool.
    """
    terms = {
        _ROUND_OF_SCORES if domain is None else domain.round_term_of(verdict.parameters)
        for verdict in verdicts
        for domain in (catalog.find_domain(verdict.domain),)
    }
    return terms.pop() if len(terms) == 1 else RoundTerm()


def omission_note(shown: int, of: int, things: str) -> str:
    """A sentence that says how many are not shown; empty if nothing is missing.

    >>> omission_note(2, 2, "attackers"), omission_note(100, 200, "attackers")
    ('', 'Shown are the 100 most important of 200 attackers; verdicts.json holds them all.')
    """
    if shown >= of:
        return ""
    return f"Shown are the {shown:,} most important of {of:,} {things}; verdicts.json holds them all."


def _severity(verdict: Verdict) -> tuple[int, float]:
    estimate = verdict.metrics.get("epsilon")
    shown = estimate.low if estimate and estimate.low is not None else 0.0
    return _SEVERITY[verdict.finding], -shown


def _lead(verdicts: Sequence[Verdict]) -> str:
    simulated = {verdict.audit: verdict for verdict in verdicts if not is_finished(verdict)}
    finished = {verdict.audit for verdict in verdicts if verdict.audit not in simulated}
    kinds: dict[str, int] = {}
    for verdict in simulated.values():
        noun = round_term([verdict]).noun
        kinds[noun] = kinds.get(noun, 0) + verdict.rounds
    kinds["finished release"] = len(finished)
    releases = " and ".join(times(n, kind) for kind, n in kinds.items() if n)
    attackers = attackers_and_settings([(verdict.audit, verdict.label) for verdict in verdicts])
    return ", ".join(part for part in (attackers, releases) if part)
