"""Compares the noise of answers with the stated one: its size, its shape, and whether it is fresh."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.queries.gathered_answers import GatheredAnswers
from leakgauge.domains.queries.oracle import OracleRules
from leakgauge.mechanisms import opendp
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.referee import noise_tests
from leakgauge.referee.equal_noise import EqualNoise, equal_noise, off_extremes, unexplained_step
from leakgauge.referee.noise_tests import CERTAIN, NoiseTest
from leakgauge.referee.reused_noise import REUSED, reused_noise
from leakgauge.referee.stated_noise import Rounding

FEWEST_RESIDUALS = 20  # fewer are not tested
MOST_RESIDUALS = 50_000  # that are tested: enough to tell noise scales that differ by 2 %
MOST_TRUTHS, MOST_VARIED = 200, 4_000  # true answers that differ; residuals that are tested if there are more
_EXACT = 1e-9  # of the noise scale: a residual that floating point alone explains
_CLEAR = 3.0  # standard errors from which on residuals are clearly not about zero
MOST_COMPARED, MOST_QUESTIONS = 400, 30  # rounds and questions that are compared with each other
EQUAL_ANSWERS = (
    "different questions of one session got exactly the same answer, where their true answers are equal: "
    "their noise is used again, so that differences between questions show without noise, unless the service "
    "repeats an answer whatever it is asked, which reveals no more than that answer"
)


@dataclass(frozen=True, eq=False)
class NoiseComparison:
    """The residuals of an attacker's answers beside the noise that the rules state."""

    answers: GatheredAnswers
    rules: OracleRules

    @cached_property
    def tests(self) -> tuple[NoiseTest, ...]:
        """Tests of the size, the shape and the independence of the noise."""
        if int(np.isfinite(self._residuals).sum()) < FEWEST_RESIDUALS:
            return ()
        rows = slice(self._n_tested_rounds)
        residuals, truths = self._residuals[rows], self.answers.truths[rows]
        noise, rounding = self._noise, Rounding(1.0) if self.rules.round else None
        clamp = (0.0, np.inf) if self.rules.clamp else None
        tests = [
            test(residuals, noise, truths=truths, rounding=rounding, clamp=clamp)
            for test in (noise_tests.too_little_noise, noise_tests.too_much_noise, noise_tests.other_shape)
        ]
        few = slice(min(MOST_COMPARED, self._n_tested_rounds)), slice(MOST_QUESTIONS)
        if np.isfinite(self._comparable[few]).any():
            tests.append(
                reused_noise(
                    self._comparable[few],
                    noise,
                    truths=self.answers.truths[few],
                    rounding=rounding,
                    clamp=clamp,
                    answers=self.answers.answers[few],
                    kept=self._kept,
                )
            )
        return tuple(self._with_cause(test) for test in tests)

    def _with_cause(self, test: NoiseTest) -> NoiseTest:
        """Name the likely cause where the noise is right, but belongs to answers from the wrong table."""
        if test.name == REUSED and self._equal_answers:
            return replace(test, finding=EQUAL_ANSWERS)
        if test.violates or self._always is None:
            return test
        found, other = ("in", "without") if self._always else ("not in", "with")
        cause = (
            f"{test.finding}. Sessions {other} the target answer as if the target was {found} the table: "
            "check that the service answers from the table asked for ({absent}, {present} or {world})"
        )
        return replace(test, finding=cause)

    @property
    def _equal_answers(self) -> bool:
        """Whether answers are equal only where their true values are: noise again, or the same answer."""
        p_values = [self._between_questions(which).p_value for which in ("same", "different")]
        return p_values[0] < CERTAIN <= p_values[1]

    @cached_property
    def _always(self) -> bool | None:
        """Whether all sessions answer as if the target was in the table, or not in it; None: as they should.

        The mean residual of one kind of session is then what the target contributes.
        """
        if self.answers.members.shape[1] != 1:
            return None
        member = np.broadcast_to(self.answers.members, self._residuals.shape)
        moved = self._contributions
        for world, sign in ((False, 1.0), (True, -1.0)):
            here = (member == world) & np.isfinite(self._residuals) & (moved != 0)
            if np.count_nonzero(here) < FEWEST_RESIDUALS:
                continue
            shares = sign * self._residuals[here] / moved[here]
            error = float(shares.std() / np.sqrt(shares.size))
            if error > 0 and shares.mean() > _CLEAR * error and abs(shares.mean() - 1) < 3 * error:
                return not world
        return None

    @property
    def _contributions(self) -> Reals:
        """What the target adds to the true answer of each question; 0 where it is not known."""
        truths, member = self.answers.truths, self.answers.members[:, 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a question may have no round of one kind
            present, absent = (np.nanmean(truths[member == world], axis=0) for world in (True, False))
        added = np.nan_to_num(present - absent)
        same = np.nanmax(truths, axis=0, initial=-np.inf) - np.nanmin(truths, axis=0, initial=np.inf)
        return np.broadcast_to(np.where(np.isclose(same, np.abs(added)), added, 0.0), truths.shape)

    @property
    def violations(self) -> tuple[str, ...]:
        """Noise that is exactly the same in different questions, or in sessions with different tables."""
        sentences = []
        if (same := self._between_questions("different")).p_value < CERTAIN:
            sentences.append(
                f"Different questions of one session got exactly the same noise ({same.n_equal:,} of "
                f"{same.n_pairs:,} pairs): the difference of two answers has none."
            )
        if (same := self._between_sessions("different")).p_value < CERTAIN:
            sentences.append(
                "A question got exactly the same noise in different sessions, with the target and without it "
                f"({same.n_equal:,} of {same.n_pairs:,} pairs): the difference of two answers has none."
            )
        return tuple(sentences)

    @cached_property
    def repeated(self) -> str | None:
        """That sessions repeat an answer whatever is asked, which reveals no more than the answer itself."""
        if self._between_questions("answers").p_value >= CERTAIN:
            return None
        return (
            "a session repeats one answer whatever it is asked, although the true answers differ, so that "
            "only its first question was answered; let the service answer every question, or check whether "
            "it takes the key of a request ({request}) or the session for the question"
        )

    @cached_property
    def dependent(self) -> str | None:
        """Why sessions are not independent, if they are not; without any noise they share none."""
        if self._without_noise:
            return None
        if any(self._between_sessions(which).p_value < CERTAIN for which in ("different", "same", "answers")):
            return (
                "sessions share their noise, so that they count as one session and no number of them shows "
                "how often an attacker is right; let every session draw its own noise: use one cache per "
                "session, or none"
            )
        return None

    @property
    def _without_noise(self) -> bool:
        """Whether (nearly) all answers are the true ones, so that they are equal for that reason."""
        seen = self._residuals[np.isfinite(self._residuals)]
        return seen.size > 0 and float(np.mean(np.abs(seen) <= _EXACT * self._scale)) > 0.99

    @cached_property
    def _noise(self) -> AdditiveNoise:
        """The stated noise of the answers, of the most common scale; residuals are those under it."""
        noise = self.rules.noise
        if isinstance(noise, opendp.Mechanism):
            return noise.law
        return noise.scaled_to(noise.sensitivity, self._scale)

    @cached_property
    def _scale(self) -> float:
        asked = self.answers.scales[np.isfinite(self.answers.scales)]
        values, counts = np.unique(asked, return_counts=True)
        return float(values[counts.argmax()])

    @cached_property
    def _residuals(self) -> Reals:
        """Where the noise should be fresh, of questions with one scale."""
        return np.where(self.answers.scales == self._scale, self.answers.residuals, np.nan)

    @property
    def _n_tested_rounds(self) -> int:
        """Rounds that are tested: fewer where true answers differ much, for each has its own distribution."""
        seen = np.isfinite(self._residuals)
        most = MOST_RESIDUALS if np.unique(self.answers.truths[seen]).size <= MOST_TRUTHS else MOST_VARIED
        return max(1, int(np.searchsorted(seen.sum(axis=1).cumsum(), most, side="right")))

    @cached_property
    def _comparable(self) -> Reals:
        """Residuals that are equal for no other reason than their noise.

        Left out are answers that are rounded more than is stated, and those at an end of their range.
        """
        answers = np.where(np.isfinite(self._residuals), self.answers.answers, np.nan)
        if unexplained_step(answers, self._noise, 1.0 if self.rules.round else None) is not None:
            return np.full(answers.shape, np.nan)
        return np.where(off_extremes(answers), self._residuals, np.nan)

    @cached_property
    def _kept(self) -> float:
        """The share of residuals that are compared with each other."""
        n_kept = int(np.isfinite(self._comparable).sum())
        return max(n_kept, 1) / max(int(np.isfinite(self._residuals).sum()), 1)

    def _between_questions(self, which: str) -> EqualNoise:
        """Pairs of neighbouring questions in one session that have different or the same true answers.

        Of those with different ones, ``answers`` compares the answers themselves.
        """
        n = self._comparable.shape[1] // 2 * 2
        first, second = self._comparable[:, 0:n:2], self._comparable[:, 1:n:2]
        true_first, true_second = self.answers.truths[:, 0:n:2], self.answers.truths[:, 1:n:2]
        rows = (true_first == true_second) if which == "same" else (true_first != true_second)
        if which == "answers":
            first, second = first + true_first, second + true_second
        return equal_noise(first[rows], second[rows], self._noise, self.answers.answers, self._kept)

    @cached_property
    def _session_pairs(self) -> tuple[Reals, Reals, Reals, Reals]:
        """Residuals and true answers of the same question in pairs of sessions, each in one pair at most."""
        seen = np.argwhere(np.isfinite(self._comparable))
        questions = self.answers.questions[seen[:, 0], seen[:, 1]]
        order = np.argsort(questions, kind="stable")  # rounds stay in their order
        seen, questions = seen[order], questions[order]
        new = np.ones(questions.size, dtype=bool)
        new[1:] = questions[1:] != questions[:-1]
        position = np.arange(questions.size)
        position -= np.maximum.accumulate(np.where(new, position, 0))  # within its question
        first = np.flatnonzero((position[:-1] % 2 == 0) & ~new[1:])
        pairs = seen[first], seen[first + 1]
        residuals = [self._comparable[pair[:, 0], pair[:, 1]] for pair in pairs]
        truths = [self.answers.truths[pair[:, 0], pair[:, 1]] for pair in pairs]
        return residuals[0], residuals[1], truths[0], truths[1]

    def _between_sessions(self, which: str) -> EqualNoise:
        """Pairs of sessions in which a question has different or the same true answers.

        Of those with different ones, ``answers`` compares the answers themselves: a store that is shared.
        """
        first, second, true_first, true_second = self._session_pairs
        differ = true_first != true_second
        if which == "answers":
            first, second = first + true_first, second + true_second
        rows = ~differ if which == "same" else differ
        return equal_noise(first[rows], second[rows], self._noise, self.answers.answers, self._kept)
