from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom, kstest, norm

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.guarantee import Relation
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import knowledge
from leakgauge.domains.models.attacks.strong import Attack, StepRatio, subsampled_log_ratio
from leakgauge.domains.models.challenger import Challenger
from leakgauge.domains.models.games.game_builder import GameSetup
from leakgauge.domains.models.games.membership_game import StrongGame
from leakgauge.domains.models.noisy_mean.knowledge import NoisyMeansView, StrongMeanKnowledge
from leakgauge.domains.models.release import StepView
from leakgauge.domains.models.training.gradient_descent import TrainingRecipe
from leakgauge.domains.models.training.mlp import MlpClassifier, MlpShape
from leakgauge.domains.models.training.noise_calibration import DpSgdNoise, DpTraining, sigma_for
from leakgauge.domains.models.training.optimizers import Sgd
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.domains.models.training.trainers.network import NetworkTrainer
from leakgauge.mechanisms import geometric, laplace
from leakgauge.plan import MetricsTable
from leakgauge.theory import tradeoff
from leakgauge.verdict import Finding, decide_finding

CLIP = 0.1  # far below the norm of any gradient here: all are clipped


def table(n: int) -> Examples:
    """Rows to train on; the last two are the same row with both labels: their gradients are opposite."""
    rng = np.random.default_rng(5)
    rows = rng.random((n + 1, 4), dtype=np.float32)
    rows[-1] = rows[-2]
    labels = rng.integers(2, size=n + 1)
    labels[-2:] = 0, 1
    return Examples(rows, labels, 2)


def challenger(relation, schedule, sigma, *, used: float | None = None) -> Challenger:
    """A network of one layer; noise of ``used`` times the clip, while that of ``sigma`` is promised."""
    n = schedule.rows
    replaces = relation is Relation.REPLACE_ONE
    promised = DpTraining(relation=relation, sigma=sigma, clip=CLIP)
    recipe = TrainingRecipe(
        schedule=schedule,
        noise=DpSgdNoise(sigma=used or sigma, clip=CLIP),
        hidden=(),
        optimizer=Sgd(rate=0.1),
    )
    game = StrongGame(others=np.arange(n - 1), target=n - 1, substitute=n if replaces else None)
    return Challenger(
        table=table(n),
        setup=GameSetup(game, np.empty(0, dtype=np.int64)),
        trainer=NetworkTrainer(recipe=recipe, promise=promised),
        relation=relation,
        guarantee=promised.guarantee(schedule),
        digest="",
    )


def trials_of(owner, n_rounds, attack=None):
    known = knowledge.build("strong", {}, owner, 0)
    scorer = (attack or Attack()).study(known, stream(1, Role.STUDY))
    return play(owner, {"it": Adversary(known, scorer)}, 1, range(n_rounds), 0)["it"]


def rates(trials):
    guessed = trials.scores >= 0
    return guessed[trials.members].mean(), guessed[~trials.members].mean()


def gradient(network, rows, labels):
    """Clipped gradients of one softmax layer by the textbook: (p - y) times (inputs, 1)."""
    logits = rows.astype(float) @ network.weights[: 2 * rows.shape[1]].reshape(2, -1).T + network.weights[-2:]
    away = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) - np.eye(2)[labels]
    each = [np.append(np.outer(one, row).ravel(), one) for one, row in zip(away, rows)]
    return [one * min(1, CLIP / np.linalg.norm(one)) for one in each]


def log_law(released, mean, scale):
    return norm.logpdf(released, loc=mean, scale=scale).sum()


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("batch", [12, 5])
def test_score_of_one_step_is_log_ratio_of_two_densities(relation, batch):
    owner = challenger(relation, TrainingSchedule(rows=12, batch=batch, epochs=1), 0.8)
    share = batch / 12
    played = owner.release(np.array([[True], [False], [True]]), np.random.default_rng(3))
    known = knowledge.build("strong", {}, owner, 0)
    scores = (
        Attack().study(known, np.random.default_rng(0)).score(known.view(played), np.random.default_rng(0))
    )
    for one, score in zip(played, scores[:, 0]):
        direct = 0.0
        for step in one.steps():
            others = owner.table.take(step.others)
            mean = sum(gradient(step.network, others.rows, others.labels), np.zeros(10))
            (own,), (other,) = (
                gradient(step.network, *(owner.table.rows[[row]], owner.table.labels[[row]]))
                for row in (11, 12)
            )

            def world(shift, step=step, mean=mean):
                logs = [log_law(step.released, at, 0.8 * CLIP) for at in (mean, mean + shift)]
                return logsumexp(logs, b=[1 - share, share])

            absent = world(0 * own) if relation is Relation.ADD_REMOVE else world(other)
            direct += world(own) - absent
        assert score == pytest.approx(direct, abs=2e-4)
        assert abs(score) > 0.01


def test_opposite_gradients_give_gaussian_scores():
    """In shuffled batches a row is in one batch of an epoch: over E epochs mu = 2 sqrt(E) / sigma."""
    epochs, sigma = 4, 3.0
    schedule = TrainingSchedule(rows=10, batch=5, epochs=epochs, sampling=BatchSampling.SHUFFLED)
    trials = trials_of(challenger(Relation.REPLACE_ONE, schedule, sigma), 300)
    mu = 2 * np.sqrt(epochs) / sigma
    for members, sign in ((trials.members, 1), (~trials.members, -1)):
        standard = (trials.scores[members] - sign * mu**2 / 2) / mu
        assert kstest(standard, norm.cdf).pvalue > 0.01
    high, low = rates(trials)
    assert high - low == pytest.approx(2 * norm.cdf(mu / 2) - 1, abs=3 * np.sqrt(0.5 / 300))


def test_fixed_size_batches_reveal_participation():
    schedule = TrainingSchedule(rows=10, batch=5, epochs=1, sampling=BatchSampling.WITHOUT_REPLACEMENT)
    owner = challenger(Relation.REPLACE_ONE, schedule, 1.0)
    known = knowledge.build("strong", {}, owner, 0)
    ratio = StepRatio(
        others=known.others,
        target=known.target,
        substitute=known.substitute,
        noise=owner.trainer.recipe.noise,
        share=schedule.share,
    )
    network = MlpClassifier(MlpShape(4, 2, ()), np.zeros(10, dtype=np.float32))
    step = StepView(network, np.arange(4), np.ones(10, dtype=np.float32), True)
    (own,), (other,) = (gradient(network, one.rows, one.labels) for one in (known.target, known.substitute))
    mean = sum(gradient(network, known.others.rows[:4], known.others.labels[:4]))
    direct = log_law(step.released, mean + own, CLIP) - log_law(step.released, mean + other, CLIP)
    assert ratio(step) == pytest.approx(direct, rel=1e-4)
    assert ratio(replace(step, in_batch=False)) == 0


def test_rejects_steps_when_promise_needs_secret_batches():
    """An epsilon of 1 by Renyi divergences; who knows the batches needs 7 for 200 steps of one row."""
    schedule = TrainingSchedule(rows=100, batch=1, epochs=2, sampling=BatchSampling.WITHOUT_REPLACEMENT)
    sigma = sigma_for(1.0, 1e-5, Relation.REPLACE_ONE, schedule)
    owner = challenger(Relation.REPLACE_ONE, schedule, sigma)
    known = knowledge.build("strong", {}, owner, 0)
    with pytest.raises(BadInput, match="only for secret batches; use 'poisson' or 'shuffled'"):
        Attack().study(known, np.random.default_rng(0))
    (one,) = owner.release(np.array([[True]]), np.random.default_rng(1))
    with pytest.raises(BadInput, match="only for secret batches"):
        next(one.steps())

    def delta(epsilon):
        """Of normal laws, mu = 2 sqrt(k) / sigma, where the row is in k of 200 batches (Balle and Wang)."""
        k = np.arange(1, 40)
        mu = 2 * np.sqrt(k) / sigma
        each = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        return binom.pmf(k, 200, 0.01) @ each

    assert delta(7.0) > 1e-5 > delta(7.1)


def test_huge_log_ratios_do_not_overflow():
    assert subsampled_log_ratio(2000.0, 0.25) == pytest.approx(2000 + np.log(0.25), abs=1e-9)
    assert subsampled_log_ratio(-2000.0, 0.25) == pytest.approx(np.log(0.75), abs=1e-12)


@pytest.mark.parametrize("relation", list(Relation))
def test_opposite_clipped_gradients_reach_accounting_bound(relation):
    owner = challenger(relation, TrainingSchedule(rows=10, batch=5, epochs=2), 1.5)
    trials = trials_of(owner, 500)
    high, low = rates(trials)
    most = 2 * tradeoff.max_accuracy(owner.guarantee) - 1
    assert high - low == pytest.approx(most, abs=3 * np.sqrt(0.5 / 250 * (1 - most**2)))
    assert most > 0.2
    # Any likelihood ratio has a mean of one where it is the other world that is true.
    weights = np.exp(trials.scores[~trials.members])
    assert weights.mean() == pytest.approx(1, abs=4 * weights.std() / np.sqrt(weights.size))
    assert decide_finding(trials, owner.guarantee, MetricsTable(), 1, None) is Finding.NOT_VIOLATED


@pytest.mark.parametrize("relation", list(Relation))
def test_noise_reduced_to_a_quarter_is_detected(relation):
    schedule = TrainingSchedule(rows=10, batch=5, epochs=2)
    owner = challenger(relation, schedule, 4.0, used=1.0)
    assert decide_finding(trials_of(owner, 250), owner.guarantee, MetricsTable(), 1, None) is Finding.VIOLATED


def without_noise(relation) -> Challenger:
    """All rows in every batch, for long enough to forget the random start: what is left is who was in."""
    owner = challenger(relation, TrainingSchedule(rows=8, batch=8, epochs=300), 1.0)
    recipe = replace(owner.trainer.recipe, noise=None, optimizer=Sgd(rate=1.0))
    if relation is Relation.REPLACE_ONE:
        schedule = replace(recipe.schedule, sampling=BatchSampling.SHUFFLED)
        recipe = replace(recipe, schedule=schedule)
    return replace(owner, trainer=NetworkTrainer(recipe=recipe), guarantee=None)


def test_rejects_steps_without_noise():
    known = knowledge.build("strong", {}, without_noise(Relation.REPLACE_ONE), 0)
    with pytest.raises(BadInput, match='this training has none; use form = "retrained"'):
        Attack().study(known, np.random.default_rng(0))


@pytest.mark.parametrize("relation", list(Relation))
def test_retrained_networks_identify_members_without_noise(relation):
    high, low = rates(trials_of(without_noise(relation), 40, Attack(form="retrained", models=12)))
    assert high - low > 0.9


def test_retrained_networks_respect_the_promise():
    owner = challenger(Relation.REPLACE_ONE, TrainingSchedule(rows=10, batch=5, epochs=2), 1.5)
    trials = trials_of(owner, 300, Attack(form="retrained", models=50))
    high, low = rates(trials)
    assert high - low < 2 * tradeoff.max_accuracy(owner.guarantee) - 1
    assert decide_finding(trials, owner.guarantee, MetricsTable(), 1, None) is Finding.NOT_VIOLATED


def test_rejects_too_few_models():
    with pytest.raises(BadInput, match="models must be >= 8, got 1"):
        Attack(form="retrained", models=1)


@pytest.mark.parametrize(
    ("noise", "score"), [(laplace.Mechanism(epsilon=1.0), -0.6), (geometric.Mechanism(epsilon=0.5), 0.5)]
)
def test_noisy_mean_score_is_noise_ratio(noise, score):
    """Around 7 with the target and 6 without: e^-|y - 7| over e^-|y - 6| at 6.2; of two pmfs at 9."""
    known = StrongMeanKnowledge(others=6.0, target=1.0, substitute=0.0, noise=noise)
    seen = NoisyMeansView(np.array([6.2 if score < 0 else 9.0]), np.ones((1, 1)))
    found = Attack().study(known, np.random.default_rng(0)).score(seen, np.random.default_rng(0))
    np.testing.assert_allclose(found, [[score]])
