"""Compares the noise of answers with the stated one: its size, its shape, and whether it is fresh."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.queries.answer_table import AnswerTable
from leakgauge.domains.queries.average_likelihood import CDF_ERROR, AverageNoise
from leakgauge.domains.queries.oracle import MANY_ROUNDS, OracleRules
from leakgauge.domains.queries.query import Query
from leakgauge.mechanisms import opendp
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.referee import noise_tests
from leakgauge.referee.equal_noise import (
    EqualNoise,
    WholeNumbersBetween,
    are_no_clamps,
    chances_of_whole_numbers,
    equal_noise,
    grid_step,
    largest_chance,
    most_chance_of_equal,
    off_extremes,
    p_value_of_sessions,
    unexplained_step,
)
from leakgauge.referee.noise_tests import CERTAIN, NoiseTest
from leakgauge.referee.reused_noise import reused_noise
from leakgauge.referee.stated_noise import Rounding

FEWEST_RESIDUALS = 20  # fewer are not tested
MOST_RESIDUALS = 50_000  # that are tested: enough to tell noise scales that differ by 2 %
MOST_TRUTHS, MOST_VARIED = 200, 4_000  # true answers that differ; residuals that are tested if there are more
_EXACT = 1e-9  # of the noise scale: a residual that floating point alone explains
_CLEAR = 3.0  # standard errors from which on residuals are clearly not about zero
MOST_COMPARED, MOST_QUESTIONS = 400, 30  # rounds and questions that are compared with each other
_MOST = 0.75  # of pairs that are equal, from which on a service is taken to repeat answers
_UNLIKE = 0.05  # of a test whether questions with different true answers have the same noise
_SHARES = 201  # of repeated answers that are tried
_SUSPECT = 0.01  # of a test whether sessions may repeat answers, so that they count once
_PERMUTATIONS = 399
_FOUND = 1e-4  # of a test that tells used noise from answers that are repeated whatever is asked
_RARE = 1e-6  # of a test whether answers are equal in sessions more often than between them
REPEATED_FOR_DATA = "repeated_for_data"  # the name of a test
EQUAL_ANSWERS = (
    "different questions of one session got exactly the same answer, where their true answers are equal"
)
REPEATED_ALIKE = (
    "a question and the same question without the target get the same answer as often with the target as "
    "without it: the service repeats answers whatever it is asked, which reveals no more than they do"
)
NOT_TOLD_APART = (
    f"{EQUAL_ANSWERS}: either noise is used again, which reveals differences between questions, or the "
    "service repeats an answer whatever it is asked, which reveals no more than that answer; "
)
CACHE_UNNOTICED = (
    "So few sessions with the stated noise would probably not show a cache that looks at true answers or at "
    "the selected records, which tells who is in the table: that nothing was found says little about it. Run "
    "more rounds."
)
NOT_ASKED = "no session answered a question with and without the target, which would tell"
TOO_FEW_PAIRS = (
    "so few sessions that answered a question with and without the target do not tell; run more rounds"
)


@dataclass(frozen=True, eq=False)
class NoiseComparison:
    """The residuals of an attacker's answers beside the noise that the rules state."""

    answers: AnswerTable
    rules: OracleRules

    @cached_property
    def tests(self) -> tuple[NoiseTest, ...]:
        """Tests of the size, the shape and the independence of the noise."""
        if int(np.isfinite(self._residuals).sum()) < FEWEST_RESIDUALS:
            return self._tests_of_averages
        rows = slice(self._n_tested_rounds)
        residuals = np.where(self.distinct.independent, self._residuals, np.nan)[rows]
        truths = self.answers.truths[rows]
        noise, rounding = self._noise, Rounding(1.0) if self.rules.round else None
        clamp = (0.0, np.inf) if self.rules.clamp else None
        kinds = [noise_tests.too_little_noise, noise_tests.too_much_noise, noise_tests.other_shape]
        if noise.lattice:
            kinds.insert(1, noise_tests.too_many_exact)
        tests = [test(residuals, noise, truths=truths, rounding=rounding, clamp=clamp) for test in kinds]
        if self._may_repeat:
            first = _first_of_rows(residuals)
            again = [test(first, noise, truths=truths, rounding=rounding, clamp=clamp) for test in kinds]
            tests = [max(pair, key=lambda test: test.p_value) for pair in zip(tests, again)]
        tests += [*self.tests_of_pairs, *self._tests_of_reuse]
        return tuple(self._with_cause(test) for test in tests)

    @property
    def _tests_of_reuse(self) -> list[NoiseTest]:
        """Test whether noise is used more than once, if there are answers to compare.

        A service may repeat answers now and then, whatever it is asked, which reveals no more than they do.
        So answers that a session gave before are left out, or those of a session are compared where their
        true answers differ. Only where neither finds anything, all are compared: the service is then not as
        stated, or pairs of questions tell more. Each of these two stages has half of the error, and the first
        divides its half between two tests.
        """
        repeated = self.answers.given_before
        first = [
            replace(test, p_value=min(1.0, 4 * min(test.p_value, self._p_same_noise)))
            for test in self._reuse(np.where(repeated, np.nan, self._comparable))
        ]
        if not repeated.any() or any(test.p_value <= _FOUND for test in first):
            return first
        if self._absent_pairs.n_pairs and 2 * self._p_unlike <= _FOUND:
            finding, violates = f"{EQUAL_ANSWERS}, and only there: their noise is used again", True
            least = 2 * self._p_unlike  # a service that repeats whatever it is asked is no violation
        else:
            finding, violates, least = self._why_repeated, False, 0.0
        return [
            replace(test, p_value=min(1.0, max(2 * test.p_value, least)), finding=finding, violates=violates)
            for test in self._reuse(self._comparable)
        ]

    @property
    def _why_repeated(self) -> str:
        """What pairs of questions say about answers that are repeated, where they show no violation."""
        absent, present = self._absent_pairs, self._present_pairs
        if not absent.n_pairs or not present.n_pairs:
            return NOT_TOLD_APART + NOT_ASKED
        return REPEATED_ALIKE if self._p_equal(present) <= _FOUND else NOT_TOLD_APART + TOO_FEW_PAIRS

    @property
    def _p_same_noise(self) -> float:
        """The chance of so much equal noise in questions of a session whose true answers differ.

        A repeated answer has another noise there, so that equal noise is not more probable than it is by
        chance, whatever a session repeats.
        """
        few = slice(min(MOST_COMPARED, self._n_tested_rounds)), slice(MOST_QUESTIONS)
        noise, truths = self._comparable[few], self.answers.truths[few]
        first, second = np.triu_indices(noise.shape[1], 1)
        differ = truths[:, first] != truths[:, second]
        seen = differ & np.isfinite(noise[:, first]) & np.isfinite(noise[:, second])
        equal = seen & (np.abs(noise[:, first] - noise[:, second]) <= _EXACT * self._scale)
        asked = seen.any(axis=1)
        shares = equal[asked].sum(axis=1) / seen[asked].sum(axis=1)
        chance = min(1.0, self._chance_of_equal_noise / self._kept**2)
        return p_value_of_sessions(shares, chance) if shares.size else 1.0

    def _reuse(self, residuals: Reals) -> list[NoiseTest]:
        few = slice(min(MOST_COMPARED, self._n_tested_rounds)), slice(MOST_QUESTIONS)
        if not np.isfinite(residuals[few]).any():
            return []
        test = reused_noise(
            residuals[few],
            self._noise,
            truths=self.answers.truths[few],
            rounding=Rounding(1.0) if self.rules.round else None,
            clamp=(0.0, np.inf) if self.rules.clamp else None,
            answers=self.answers.answers[few],
            kept=self._share_of_all(residuals),
        )
        return [test]

    @property
    def _tests_of_averages(self) -> tuple[NoiseTest, ...]:
        """Test whether averages have the distribution of a noisy sum over a noisy count (Kolmogorov 1933)."""
        of_average = (
            self.answers.independent & np.isfinite(self.answers.sums) & np.isfinite(self.answers.answers)
        )
        rows, columns = (places[:MOST_VARIED] for places in np.nonzero(of_average))
        published = self.rules.round or self.rules.clamp or self.rules.at_least is not None
        if published or rows.size < FEWEST_RESIDUALS:
            return ()
        noise = AverageNoise(self._noise, self.rules.count_noise_of(Query()))
        parts = np.column_stack([self.answers.sums[rows, columns], self.answers.counts[rows, columns]])
        averages, below = self.answers.answers[rows, columns], np.empty(rows.size)
        kinds, kind_of = np.unique(parts, axis=0, return_inverse=True)
        for kind, (total, count) in enumerate(kinds.tolist()):
            here = kind_of.ravel() == kind
            below[here] = noise.cdf(averages[here], total, count)
        test = noise_tests.other_distribution(
            below,
            slack=CDF_ERROR,
            finding="averages are not distributed as a noisy sum over a noisy count with the stated noise",
        )
        return (test,)

    def _with_cause(self, test: NoiseTest) -> NoiseTest:
        """Name the likely cause where the noise is right, but belongs to answers from the wrong table."""
        if test.violates or self._always is None:
            return test
        found, other = ("in", "without") if self._always else ("not in", "with")
        cause = (
            f"{test.finding}. Sessions {other} the target answer as if the target was {found} the table: "
            "check that the service answers from the table asked for ({absent}, {present} or {world})"
        )
        return replace(test, finding=cause)

    @cached_property
    def tests_of_pairs(self) -> tuple[NoiseTest, ...]:
        """Test whether an answer is repeated because of what is in the table, and not of what is asked.

        Without the target a question and the same question without it have equal true answers, from the same
        records. A service that repeats an answer for such a reason does so there and not with the target. One
        that repeats answers whatever it is asked does so in both, which reveals nothing: so both must be
        improbable, equal answers under the stated noise, and the difference between the two by chance.
        Sessions that share their noise count as one of each world: the first alone must be improbable.
        """
        absent, present = self._absent_pairs, self._present_pairs
        if not absent.n_pairs or not present.n_pairs:
            return ()
        p_unlike, likely = self._p_unlike, self._without_noise
        if self.dependent is not None:
            p_unlike, likely = float(self._mostly_equal(present)), likely or not self._mostly_equal(absent)
        test = NoiseTest(
            name=REPEATED_FOR_DATA,
            p_value=1.0 if likely else max(self._p_equal(absent), p_unlike),
            finding="a question and the same question without the target get the same answer where the "
            "target is not in the table, and different ones where it is: what is repeated depends on true "
            "answers or on the selected records, and tells who is in the table. A cache must look at "
            "questions only",
            violates=True,
            n=absent.n_pairs + present.n_pairs,
            reveals=True,
            fault_p_value=0.0 if likely or self.dependent is not None else self._p_of_cache,
            unnoticed=CACHE_UNNOTICED,
        )
        return (test,)

    @property
    def _p_of_cache(self) -> float:
        """What a cache that always looks at true answers would probably give with so many pairs."""
        from scipy.stats import binom

        n, fewer = self._present_pairs.n_pairs, self._chances_of_equal[1]
        absent = replace(self._absent_pairs, n_equal=self._absent_pairs.n_pairs)
        present = replace(self._present_pairs, n_equal=int(binom.median(n, fewer)))
        return max(self._p_equal(absent), self._p_unlike_of(absent, present))

    def _p_equal(self, pairs: EqualNoise) -> float:
        """The chance of at least so many equal pairs under the stated noise, if no answer is repeated."""
        from scipy.stats import binom

        return float(binom.sf(pairs.n_equal - 1, pairs.n_pairs, self._chances_of_equal[0]))

    @cached_property
    def _p_unlike(self) -> float:
        return self._p_unlike_of(self._absent_pairs, self._present_pairs)

    def _p_unlike_of(self, absent: EqualNoise, present: EqualNoise) -> float:
        """The chance of so different shares of equal pairs, if the service repeats whatever it is asked.

        Whole-number noise makes equal answers more probable where true answers are equal, which they are
        without the target only. With the share of repeated answers, which is unknown, both numbers of equal
        pairs are binomial and independent, and their p-values are combined (Fisher 1932). The largest result
        over all shares counts.
        """
        from scipy.stats import binom

        repeated = np.linspace(0.0, 1.0, _SHARES)
        more, fewer = (repeated + (1 - repeated) * chance for chance in self._chances_of_equal)
        p_values = binom.sf(absent.n_equal - 1, absent.n_pairs, more)
        p_values *= binom.cdf(present.n_equal, present.n_pairs, fewer)
        with np.errstate(divide="ignore", invalid="ignore"):
            combined = np.where(p_values > 0, p_values * (1 - np.log(p_values)), 0.0)
        return min(1.0, float(combined.max()))

    @cached_property
    def _chances_of_equal(self) -> tuple[float, float]:
        """How probable equal answers to a pair are by chance: at most, and at least with the target.

        Answers at the ends of the range are left out. Whichever these are, the others are independent, with
        the stated noise between the two ends.
        """
        pairs = self.answers.pairs
        answers = np.append(self.answers.answers[np.isfinite(self._residuals)], pairs.answers)
        between = WholeNumbersBetween.ends_of(answers, self._noise)
        if between is not None and not self.rules.clamp and between.reaches(pairs.truths):
            most = max(between.chance_of_equal(one, one) for one in np.unique(pairs.truths).tolist())
            present = np.unique(pairs.truths[pairs.members], axis=0).tolist()
            return most, min((between.chance_of_equal(*one) for one in present), default=0.0)
        asked, kept = (int(np.isfinite(values).sum()) for values in (pairs.answers, self._comparable_pairs))
        return min(1.0, self._chance_of_equal_noise / (max(kept, 1) / max(asked, 1)) ** 2), 0.0

    @cached_property
    def _chance_of_equal_noise(self) -> float:
        """The largest chance that two independent residuals are equal, under the stated noise."""
        if self._noise.lattice and not self.rules.clamp:
            return most_chance_of_equal(chances_of_whole_numbers(self._noise))
        step = max(grid_step(self.answers.answers, self._scale), 4 * _EXACT * self._scale)
        return largest_chance(self._noise, step)

    @cached_property
    def _absent_pairs(self) -> EqualNoise:
        """Answers to a question, and to the same question without the target, where that is not there."""
        return self._equal_answers_to_pairs(~self.answers.pairs.members)

    @cached_property
    def _present_pairs(self) -> EqualNoise:
        """The same where the target is in the table."""
        return self._equal_answers_to_pairs(self.answers.pairs.members)

    def _equal_answers_to_pairs(self, sessions: Bits) -> EqualNoise:
        answers = (self._comparable_pairs + self.answers.pairs.truths)[sessions]
        answers = answers[np.isfinite(answers).all(axis=1)]
        if not answers.size:
            return EqualNoise(n_equal=0, n_pairs=0, p_value=1.0)
        first, second = (answers if self.dependent is None else np.unique(answers, axis=0)).T
        kept = np.isfinite(self._comparable_pairs).sum() / np.isfinite(self.answers.pairs.answers).sum()
        return equal_noise(first, second, self._noise, self.answers.answers, float(kept))

    @staticmethod
    def _mostly_equal(pairs: EqualNoise) -> bool:
        return pairs.n_pairs > 0 and pairs.n_equal >= _MOST * pairs.n_pairs

    @property
    def _equal_answers(self) -> bool:
        """Whether answers are equal only where their true values are: noise again, or the same answer."""
        return self.repeats and self._between_questions("different").p_value >= CERTAIN

    @cached_property
    def repeats(self) -> bool:
        """Whether different questions of one session with equal true answers got the same answer."""
        if self._without_noise:
            return False
        return (
            self._one_answer
            or self._between_questions("same").p_value < CERTAIN
            or self._equal_in_sessions_only
        )

    @property
    def _equal_in_sessions_only(self) -> bool:
        """Whether answers are equal within sessions far more often than in different sessions."""
        within, between = self._equal_within_and_between
        return self._mostly_equal(within) and _p_more_equal(within, between) < _RARE

    @cached_property
    def _may_repeat(self) -> bool:
        """Whether sessions may repeat answers, which too few of them, or too many equal ones, hide.

        Then no session gave two different answers to questions with the same true answer, or fewer did than
        chance explains, or exact answers are in the same sessions; and questions with different true answers
        do not have the same noise. Tests of the noise must then hold for the first answers of sessions
        alone, too.
        """
        if self.repeats or (self._without_noise and not self._noise.lattice):
            return False
        within, between = self._equal_within_and_between
        if not within.n_equal or self._between_questions("different").p_value < _UNLIKE:
            return False
        alike = within.n_equal == within.n_pairs or _p_more_equal(within, between) < _SUSPECT
        return alike or (self._noise.lattice and self._p_exact_together < _SUSPECT)

    @property
    def _p_exact_together(self) -> float:
        """The chance that exact answers are so unevenly divided among the sessions, if none repeats any.

        However many answers are exact, each of them is then in any session with the same probability: the
        answers are permuted.
        """
        known = np.isfinite(self._residuals)
        exact = known & (np.abs(self._residuals) <= _EXACT * self._scale)
        sessions, sizes = np.nonzero(known)[0], known.sum(axis=1)
        bits, expected = exact[known], sizes * exact[known].mean()
        rng = np.random.default_rng(0)  # of the permutations

        def unevenness(ordered: Bits) -> float:
            counts = np.bincount(sessions, weights=ordered, minlength=sizes.size)
            return float(((counts - expected) ** 2).sum())

        found = unevenness(bits) * (1 - 1e-12)
        drawn = [unevenness(rng.permutation(bits)) for _ in range(_PERMUTATIONS)]
        return (1 + sum(value >= found for value in drawn)) / (1 + _PERMUTATIONS)

    @cached_property
    def _equal_within_and_between(self) -> tuple[EqualNoise, EqualNoise]:
        """Equal answers to questions with the same true answer: in one session, and in two of them.

        Little whole-number noise makes equal answers so probable that the stated noise alone tells nothing.
        Whatever the noise is, also clamped or rounded, without repeats a question is answered like another
        one of its session, with the same true answer, as often as in another session with that true answer.
        """
        n = self._residuals.shape[1] // 2 * 2
        pairs, truths = (rows[:, :n].reshape(-1, 2) for rows in (self._residuals, self.answers.truths))
        asked = self.answers.questions[:, :n].reshape(-1, 2)[:, 0]
        same = np.isfinite(pairs).all(axis=1) & (truths[:, 0] == truths[:, 1])
        (first, second), truth, asked = pairs[same].T, truths[same, 0], asked[same]
        truth_of = np.unique(truth, return_inverse=True)[1].astype(np.uint64)
        one, other = _neighbours(np.unique([asked, truth_of], axis=1, return_inverse=True)[1].ravel())
        within, between = (
            equal_noise(first[one], rest, self._noise, self.answers.answers)
            for rest in (second[one], first[other])
        )
        return within, between

    @cached_property
    def _one_answer(self) -> bool:
        """Whether all answers of all sessions with the same table are one number, which noise rules out."""
        answers = self.answers.answers
        _, table_of = np.unique(self.answers.members, axis=0, return_inverse=True)
        tables = [answers[table_of.ravel() == table] for table in range(table_of.max() + 1)]
        given = [values[np.isfinite(values)] for values in tables]
        enough = min(values.size for values in given) >= MANY_ROUNDS and not self.rules.clamp
        return enough and all((values == values[0]).all() for values in given)

    @cached_property
    def distinct(self) -> AnswerTable:
        """The answers of which each counts once in a session, where some are repeated."""
        if not self.repeats:
            return self.answers
        return replace(self.answers, independent=self.answers.independent & ~self.answers.given_before)

    @cached_property
    def _always(self) -> bool | None:
        """Whether all sessions answer as if the target was in the table, or not in it; None: as they should.

        The mean residual of one kind of session is then what the target contributes.
        """
        if self.answers.members.shape[1] != 1:
            return None
        member = np.broadcast_to(self.answers.members, self._residuals.shape)
        moved = self._contributions
        means, errors = {}, {}
        for world in (False, True):
            here = (member == world) & np.isfinite(self._residuals) & (moved != 0)
            if np.count_nonzero(here) < FEWEST_RESIDUALS:
                return None
            shares = self._residuals[here] / moved[here]
            means[world], errors[world] = float(shares.mean()), float(shares.std() / np.sqrt(shares.size))
        for world, sign in ((False, 1.0), (True, -1.0)):
            added, error, other = sign * means[world], errors[world], abs(means[not world])
            off = added > _CLEAR * error > 0 and abs(added - 1) < _CLEAR * error
            if off and other < _CLEAR * errors[not world]:  # the others answer as they should
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
        """No noise, or exactly the same in different questions or in sessions with different tables."""
        sentences = []
        if self._has_exact:
            sentences.append(
                f"{self._exact.n_equal:,} of {self._exact.n_pairs:,} answers are exactly the true ones, "
                "without any noise."
            )
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
        if len(_pairs_of_columns(self._comparable)) * (opposite := self._opposite).p_value < CERTAIN:
            sentences.append(
                f"The noise of two answers cancels ({opposite.n_equal:,} of {opposite.n_pairs:,} sessions): "
                "the sum of the two has none."
            )
        return tuple(sentences)

    @cached_property
    def _opposite(self) -> EqualNoise:
        """The two questions whose noise is most often equal but for its sign, in one session."""
        noise, close = self._comparable, _EXACT * self._scale
        pairs = _pairs_of_columns(noise)
        n_opposite = [
            np.count_nonzero(np.abs(noise[:, one] + noise[:, other]) <= close) for one, other in pairs
        ]
        if not n_opposite:
            return EqualNoise(n_equal=0, n_pairs=0, p_value=1.0)
        one, other = pairs[int(np.argmax(n_opposite))]
        return equal_noise(noise[:, one], -noise[:, other], self._noise, self.answers.answers, self._kept)

    @cached_property
    def repeated(self) -> str | None:
        """That sessions repeat an answer whatever is asked, which reveals no more than the answer itself."""
        equal = self._between_questions("answers")
        whatever = self._equal_answers and self._mostly_equal(self._present_pairs)
        if not whatever and not (equal.p_value < CERTAIN and self._mostly_equal(equal)):
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
        ways = ("different", "same", "answers")
        if self._one_answer or any(self._between_sessions(way).p_value < CERTAIN for way in ways):
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

        Left out are answers that are rounded more than is stated, and those at an end of their range; also
        true answers, where some are given without noise.
        """
        return np.where(self._has_exact & self._is_exact, np.nan, self._off_extremes)

    @cached_property
    def _off_extremes(self) -> Reals:
        answers = np.where(np.isfinite(self._residuals), self.answers.answers, np.nan)
        return np.where(self._usable(answers), self._residuals, np.nan)

    @property
    def _is_exact(self) -> Bits:
        return np.abs(self._residuals) <= _EXACT * self._scale

    @cached_property
    def _exact(self) -> EqualNoise:
        """Answers that are the true ones: too many for independent noise, and for any repeats in a session.

        A session that repeats an answer, to which whole-number noise added nothing, gives it many times.
        """
        residuals, seen = self._off_extremes, np.isfinite(self._residuals)
        kept = self._share_of_all(residuals)
        exact = equal_noise(residuals, np.zeros_like(residuals), self._noise, self.answers.answers, kept)
        asked = seen.any(axis=1)
        n_exact = (self._is_exact & np.isfinite(residuals))[asked].sum(axis=1)
        step = max(grid_step(self.answers.answers, self._scale), 4 * _EXACT * self._scale)
        p_value = p_value_of_sessions(n_exact / seen[asked].sum(axis=1), largest_chance(self._noise, step))
        return replace(exact, p_value=max(exact.p_value, p_value))

    def exact_among(self, answers: Reals, truths: Reals) -> EqualNoise:
        """How many of these answers are the true ones, where no clamp makes them so."""
        clamped = self.rules.clamp and truths < FEWEST_RESIDUALS * self._scale
        residuals = np.where(clamped, np.nan, answers - truths)
        return equal_noise(residuals, np.zeros_like(residuals), self._noise, answers[np.isfinite(answers)])

    @cached_property
    def _has_exact(self) -> bool:
        """Whether some answers have no noise, which is certain under noise that takes many values."""
        return self._exact.p_value < CERTAIN

    @cached_property
    def _comparable_pairs(self) -> Reals:
        """The same of the auditor's pairs of questions; at an end of the range also what is no round number.

        No service clamps to such numbers, but one that repeats answers may give hardly any others.
        """
        pairs = self.answers.pairs
        everywhere = np.where(np.isfinite(self._residuals), self.answers.answers, np.nan)
        answers = np.append(everywhere.ravel(), pairs.answers)
        usable = (self._usable(answers) | are_no_clamps(answers))[everywhere.size :]
        return np.where(usable.reshape(pairs.answers.shape), pairs.answers - pairs.truths, np.nan)

    def _usable(self, answers: Reals) -> Bits:
        if unexplained_step(answers, self._noise, 1.0 if self.rules.round else None) is not None:
            return np.zeros(answers.shape, dtype=bool)
        return off_extremes(answers)

    @cached_property
    def _kept(self) -> float:
        """The share of residuals that are compared with each other."""
        return self._share_of_all(self._comparable)

    def _share_of_all(self, residuals: Reals) -> float:
        n_kept, n = int(np.isfinite(residuals).sum()), int(np.isfinite(self._residuals).sum())
        return max(n_kept, 1) / max(n, 1)

    def _between_questions(self, which: str) -> EqualNoise:
        """Pairs of neighbouring questions in one session that have different or the same true answers.

        Of those with different ones, ``answers`` compares the answers themselves.
        """
        n = self._comparable.shape[1] // 2 * 2
        pairs, true_pairs = (
            np.concatenate([of_attack[:, :n].reshape(-1, 2), of_auditor])
            for of_attack, of_auditor in (
                (self._comparable, self._comparable_pairs),
                (self.answers.truths, self.answers.pairs.truths),
            )
        )
        (first, second), (true_first, true_second) = pairs.T, true_pairs.T
        rows = (true_first == true_second) if which == "same" else (true_first != true_second)
        if which == "answers":
            first, second = first + true_first, second + true_second
        return equal_noise(first[rows], second[rows], self._noise, self.answers.answers, self._kept)

    @cached_property
    def _session_pairs(self) -> tuple[Reals, Reals, Reals, Reals]:
        """Residuals and true answers of the same question in pairs of sessions, each in one pair at most.

        What a session repeats counts once there, too.
        """
        seen = np.argwhere(np.isfinite(self._comparable) & self.distinct.independent)
        questions = self.answers.questions[seen[:, 0], seen[:, 1]]
        pairs = [seen[places] for places in _neighbours(questions)]
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


def _pairs_of_columns(residuals: Reals) -> list[tuple[int, int]]:
    return list(combinations(range(min(residuals.shape[1], MOST_QUESTIONS)), 2))


def _p_more_equal(some: EqualNoise, others: EqualNoise) -> float:
    """The chance that so many of the equal pairs are among some, if they are as probable there (Fisher)."""
    from scipy.stats import hypergeom

    n, n_equal = some.n_pairs + others.n_pairs, some.n_equal + others.n_equal
    return float(hypergeom.sf(some.n_equal - 1, n, n_equal, some.n_pairs))


def _first_of_rows(residuals: Reals) -> Reals:
    """The first residual of each round; NaN for all others."""
    seen = np.isfinite(residuals)
    return np.where(seen & (np.cumsum(seen, axis=1) == 1), residuals, np.nan)


def _neighbours(keys: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The places of two equal keys after each other, each in one pair at most.

    >>> [places.tolist() for places in _neighbours(np.array([7, 8, 7, 7, 8, 7, 7]))]
    [[0, 3, 1], [2, 5, 4]]
    """
    order = np.argsort(keys, kind="stable")  # rounds stay in their order
    keys = keys[order]
    new = np.ones(keys.size, dtype=bool)
    new[1:] = keys[1:] != keys[:-1]
    position = np.arange(keys.size)
    position -= np.maximum.accumulate(np.where(new, position, 0))  # among its equals
    first = np.flatnonzero((position[:-1] % 2 == 0) & ~new[1:])
    return order[first], order[first + 1]
