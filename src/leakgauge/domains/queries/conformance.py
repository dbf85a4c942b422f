"""Compares the transcripts of an oracle with its statement: noise, cache, accountant, budget and promise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.game import Transcript
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.queries import plan_tables
from leakgauge.domains.queries.answer_table import AnswerTable, gather_answers
from leakgauge.domains.queries.guarantee import least_epsilon, oracle_guarantee
from leakgauge.domains.queries.noise_conformance import NoiseComparison
from leakgauge.domains.queries.oracle import MANY_ROUNDS, ROUNDING, AnswerCache, OracleRules
from leakgauge.domains.queries.side_channels import side_channel_tests, unread_fields
from leakgauge.domains.queries.transcript import Outcome
from leakgauge.referee.conformance import Conformance
from leakgauge.referee.noise_tests import CERTAIN, NoiseTest

AT_ONCE = (
    "what many questions at the same moment get (not tested: the rate is below 40 requests per second, the "
    "total is too small, the budget pays for too many answers, or all were refused)"
)
TOO_MANY_QUESTIONS = (
    " A service without sessions cannot refuse: let attacks ask fewer questions (queries), or state a "
    "promise for all of them."
)


def compare_transcripts(
    transcripts: Sequence[Transcript], *, challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path
) -> Conformance:
    """Compare what one attacker was given in all blocks with the tables of a plan; no data are needed."""
    table = plan_tables.read_challenger_table(challenger)
    rows_per_person = int(transcripts[0]["rows_per_person"]) or None
    rules = plan_tables.read_oracle_rules(mechanism, table, folder, rows_per_person)
    guarantee = oracle_guarantee(rules, table.promise, without_sessions=table.without_sessions)
    answers = gather_answers(transcripts)
    unanswered, dependent = _unanswered(answers) or _constant(answers, rules), None
    noise = NoiseComparison(answers, rules)
    if unanswered is None:
        answers, unanswered, dependent = noise.distinct, noise.repeated, noise.dependent
    channels: list[NoiseTest] = []
    if dependent is None:  # else rounds are no independent evidence
        channels = side_channel_tests(answers, rules, guarantee, two_copies=table.without_sessions)
    unread = unread_fields(answers)
    if (
        table.service is not None
        and rules.bounded
        and not any("burst_answers" in part for part in transcripts)
    ):
        unread = (*unread, AT_ONCE)
    if unanswered is not None:
        return Conformance(unanswered=unanswered, tests=tuple(channels), unread=unread)
    accounts = _AccountComparison(
        transcripts, answers, rules, guarantee, table.without_sessions, noise.repeats
    )
    return Conformance(
        certain=(*accounts.violations, *noise.violations, *_exact_apart(transcripts, noise)),
        departures=accounts.departures,
        tests=(*noise.tests, *channels) if dependent is None else noise.tests_of_pairs,
        dependent=dependent,
        unread=unread,
    )


def _exact_apart(transcripts: Sequence[Transcript], noise: NoiseComparison) -> tuple[str, ...]:
    """That answers about a total, about nobody or about some number of records have no noise."""
    apart = next((part for part in transcripts if "apart_answers" in part), None)
    if apart is None:
        return ()
    sizes = apart["apart_sizes"].tolist()
    subjects = {0: "nobody", max(sizes): "all records"}
    kinds = zip(sizes, apart["apart_answers"], apart["apart_truths"])
    return tuple(
        f"About {subjects.get(n, f'{n:,} records')} {exact.n_equal:,} of {exact.n_pairs:,} answers are "
        "exactly the true ones, without any noise."
        for n, answers, truths in kinds
        if (exact := noise.exact_among(answers, truths)).p_value < CERTAIN
    )


def _unanswered(answers: AnswerTable) -> str | None:
    """What was refused and the way out, where nothing was answered; None if something was."""
    if (answers.outcomes == Outcome.ANSWERED).any():
        return None
    n_refused = int((answers.outcomes == Outcome.REFUSED).sum())
    n_errors = int((answers.outcomes == Outcome.ERROR).sum())
    what = f"all {n_refused:,} questions were refused"
    if n_errors:
        what = f"of {n_refused + n_errors:,} questions {n_refused:,} were refused and {n_errors:,} failed"
    way_out = (
        "state the smallest count that the service answers (challenger.at_least), so that attacks ask about "
        "more records at once, raise the budget of the service, or check how the plan recognises refusals"
    )
    return f"nothing was answered in any session: {what}; {way_out}"


def _constant(answers: AnswerTable, rules: OracleRules) -> str | None:
    """That all answers are one number, which noise rules out: the questions were not answered."""
    given = answers.answers[np.isfinite(answers.answers)]
    if rules.clamp or given.size < MANY_ROUNDS or not (given == given[0]).all():
        return None
    return (
        f"all {given.size:,} answers are the same number, which the stated noise rules out, so that nothing "
        "was measured; check where the plan reads answers (ask.answer) and what the service returns"
    )


@dataclass(frozen=True, eq=False)
class _AccountComparison:
    """Budget, accountant and cache: what was answered and refused, beside what should have been."""

    transcripts: Sequence[Transcript]
    answers: AnswerTable
    rules: OracleRules
    guarantee: Guarantee | None
    without_sessions: bool
    repeats: bool  # whether sessions give an answer again to other questions, which costs nothing

    @cached_property
    def violations(self) -> tuple[str, ...]:
        """Answers about one record that cost more than is promised, and how a cache took part in it."""
        beyond = self._beyond("fresh_about_targets")
        return () if beyond is None else (beyond, *self._redrawn)

    @property
    def departures(self) -> tuple[str, ...]:
        """What else is not as stated."""
        if self.violations:
            return ()
        return (*self._beyond_accountant(), *self._redrawn, *self._refused_early())

    @cached_property
    def _allowed(self) -> float | None:
        """The epsilon that all answers about one record may reach together."""
        if self.rules.bounded:
            return self.rules.budget
        return None if self.guarantee is None else self.guarantee.epsilon

    def _beyond(self, column: str) -> str | None:
        """Say that answers cost more than allowed, however tightly they are composed."""
        if self._allowed is None:
            return None
        n_answers = self._most(column)
        delta = self.rules.composed_at
        spent = least_epsilon(self.rules.noise, n_answers, delta)
        if not spent > self._allowed * (1 + ROUNDING):
            return None
        at_delta = f" at delta = {delta:g}"
        said = "budget" if self.rules.bounded else "stated promise"
        whose = "about one record" if column == "fresh_about_targets" else "in all"
        return (
            f"In a single session {n_answers:,} different answers {whose} were given. However tightly they "
            f"are composed, they cost ε = {spent:.4g}{at_delta}, and the {said} is {self._allowed:g}."
            f"{TOO_MANY_QUESTIONS if self.without_sessions else ''}"
        )

    def _beyond_accountant(self) -> list[str]:
        """An accountant that charges every answer must refuse, whomever the answers are about."""
        if self.rules.accountant != "sequential" or not self.rules.bounded:
            return []
        beyond = self._beyond("fresh_answers")
        return [] if beyond is None else [f"{beyond} The stated accountant charges every answer."]

    @cached_property
    def _redrawn(self) -> list[str]:
        """A repeated question whose answer has new noise, though a cache is stated."""
        if self.rules.cache is AnswerCache.NONE:
            return []
        n_redrawn = sum(int(part["redrawn"].sum()) for part in self.transcripts)
        n_repeats = sum(int(part["repeats"].sum()) for part in self.transcripts)
        if not n_redrawn:
            return []
        text = (
            f"A repeated question got a different answer {n_redrawn:,} of {n_repeats:,} times, although the "
            f'service states a cache of answers (cache = "{self.rules.cache}").'
        )
        return [text]

    def _refused_early(self) -> list[str]:
        """Questions that are refused though the stated budget pays for them."""
        if self.rules.accountant not in ("sequential", "none") or self.rules.at_least is not None:
            return []  # others depend on which records a question could select
        outcomes = self.answers.outcomes
        before = np.cumsum(outcomes == Outcome.ANSWERED, axis=1)
        most = self.rules.most_answers
        affordable = np.ones(before.shape, dtype=bool) if most is None else before < most
        if self.guarantee is not None and most is None:
            return []  # the owner states a promise and no budget: any accountant may keep it
        n_early = int(((outcomes == Outcome.REFUSED) & affordable).sum())
        if not n_early:
            return []
        text = (
            f"{n_early:,} questions, or groups of them, were refused although the stated budget pays for "
            "them. Refusals that depend on anything but the number of answers may tell who is in the table."
        )
        return [text]

    def _most(self, column: str) -> int:
        most = self._most_recorded(column)
        if self.repeats:
            about = self.answers.selected.any(axis=2) if column == "fresh_about_targets" else True
            most = min(most, int((self.answers.independent & about).sum(axis=1).max()))
        return most

    def _most_recorded(self, column: str) -> int:
        columns = [column, "burst_answers", *(["nobody_answers"] if column == "fresh_answers" else [])]
        return max(int(np.max(part.get(one, 0), initial=0)) for part in self.transcripts for one in columns)
