"""Compares the noise of answers with the stated one: its size, its shape, and whether it is fresh."""

from dataclasses import dataclass
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
from leakgauge.referee.reused_noise import reused_noise
from leakgauge.referee.stated_noise import Rounding

FEWEST_RESIDUALS = 20  # fewer are not tested
MOST_RESIDUALS = 50_000  # that are tested: enough to tell noise scales that differ by 2 %
MOST_TRUTHS, MOST_VARIED = 200, 4_000  # true answers that differ; residuals that are tested if there are more
MOST_COMPARED, MOST_QUESTIONS = 400, 30  # rounds and questions that are compared with each other


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
        return tuple(tests)

    @property
    def violations(self) -> tuple[str, ...]:
        """Noise that is exactly the same in different questions, or in sessions with different tables."""
        sentences = []
        if (same := self._between_questions).p_value < CERTAIN:
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
    def dependent(self) -> str | None:
        """Why sessions are not independent, if they are not."""
        if any(self._between_sessions(which).p_value < CERTAIN for which in ("different", "same", "answers")):
            return (
                "sessions share their noise, so that they count as one session and no number of them shows "
                "how often an attacker is right; let every session draw its own noise: use one cache per "
                "session, or none"
            )
        return None

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

    @cached_property
    def _between_questions(self) -> EqualNoise:
        """Pairs of neighbouring questions in one session."""
        n = self._comparable.shape[1] // 2 * 2
        first, second = self._comparable[:, 0:n:2], self._comparable[:, 1:n:2]
        return equal_noise(first.ravel(), second.ravel(), self._noise, self.answers.answers, self._kept)

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
