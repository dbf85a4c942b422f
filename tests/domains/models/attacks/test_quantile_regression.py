"""Quantile regression on answers whose distribution is known."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks.quantile_regression import Attack, fit_usual_confidence
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import log_odds
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.training.trainer import Examples

SHIFT = 2.0  # of members, in standard deviations


@dataclass(frozen=True, eq=False)
class KnownModel:
    """Answers of which level and spread are functions of the row; those about members are higher."""

    seed: int
    members: Bits | None = None

    def log_probabilities(self, rows: Reals) -> Reals:
        noise = np.random.default_rng(self.seed).normal(size=len(rows))
        shift = 0.0 if self.members is None else SHIFT * self.members
        odds = 6 * rows[:, 0] - 3 + (0.2 + 2 * rows[:, 1]) * (noise + shift)
        return -np.logaddexp(0.0, np.column_stack([odds, -odds]))


def examples(n: int, seed: int) -> Examples:
    rng = np.random.default_rng(seed)
    return Examples(rng.random((n, 3)).astype(np.float32), np.ones(n, dtype=np.int64), 2)


def auc(members: Bits, scores: Reals) -> float:
    ranks = stats.rankdata(scores)
    n, m = members.sum(), (~members).sum()
    return float((ranks[members].sum() - n * (n + 1) / 2) / (n * m))


@pytest.fixture(scope="module")
def scored() -> tuple[Bits, Reals, Reals]:
    reference, shown = examples(2_000, 1), examples(1_000, 2)
    members = np.arange(1_000) % 2 == 0
    knowledge = BlackBoxKnowledge(reference=reference, n_members=500, trainer=None, targets=shown)

    @dataclass(frozen=True, eq=False)
    class Released:
        def log_probabilities(self, rows: Reals) -> Reals:
            asked = len(rows) == len(members)
            return KnownModel(3, members if asked else None).log_probabilities(rows)

    scorer = Attack(fpr=0.1).study(knowledge, np.random.default_rng(0))
    scores = scorer.score(ModelsView([Released()], [shown]), np.random.default_rng(0))[0]
    return members, scores, log_odds(Released(), shown)


def test_it_finds_what_the_level_of_a_row_hides(scored: tuple[Bits, Reals, Reals]) -> None:
    members, scores, odds = scored
    ideal = stats.norm.cdf(SHIFT / np.sqrt(2))
    assert auc(members, scores) == pytest.approx(ideal, abs=0.04)
    assert auc(members, odds) < ideal - 0.1  # the loss alone


def test_its_own_threshold_accuses_as_many_as_stated(scored: tuple[Bits, Reals, Reals]) -> None:
    members, scores, _ = scored
    accused = (scores[~members] > 0).mean()
    assert accused == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 500))


def test_the_fit_recovers_level_and_spread() -> None:
    reference, fresh = examples(4_000, 5), examples(500, 6)
    usual = fit_usual_confidence(reference.rows, log_odds(KnownModel(7), reference), 1)
    odds = 6 * fresh.rows[:, 0] - 3.0 + (0.2 + 2 * fresh.rows[:, 1])  # one standard deviation above
    usually = usual.standardised(fresh.rows, odds)
    assert np.median(usually) == pytest.approx(1.0, abs=0.2)


def test_few_rows_of_the_attacker_are_refused() -> None:
    knowledge = BlackBoxKnowledge(reference=examples(50, 1), n_members=5, trainer=None, targets=None)
    with pytest.raises(BadInput, match="50 are given, at least 100 are needed"):
        Attack().study(knowledge, np.random.default_rng(0))


def test_a_share_of_non_members_is_between_0_and_1() -> None:
    with pytest.raises(BadInput, match="fpr must be between 0 and 1"):
        Attack(fpr=1.0)


def test_certain_answers_do_not_drown_the_others() -> None:
    """A model that is certain of one in ten non-members, and of half of the members."""
    reference, shown = examples(1_000, 1), examples(1_000, 2)
    members = np.arange(1_000) % 2 == 0
    knowledge = BlackBoxKnowledge(reference=reference, n_members=500, trainer=None, targets=shown)

    @dataclass(frozen=True, eq=False)
    class Released:
        def log_probabilities(self, rows: Reals) -> Reals:
            rng = np.random.default_rng(int(1e6 * rows[0, 0]))
            of_members = np.array_equal(rows, shown.rows) & members if len(rows) == 1_000 else False
            certain = rng.random(len(rows)) < np.where(of_members, 0.5, 0.1)
            odds = np.where(certain, 1e4, rng.normal(np.where(of_members, 1.0, 0.0)))
            return -np.logaddexp(0.0, np.column_stack([odds, -odds]))

    scorer = Attack().study(knowledge, np.random.default_rng(0))
    scores = scorer.score(ModelsView([Released()], [shown]), np.random.default_rng(0))[0]
    best = log_odds(Released(), shown)  # nothing depends on the row, so the log-odds alone are the best score
    assert auc(members, scores) == pytest.approx(auc(members, best), abs=0.03)
