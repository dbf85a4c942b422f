"""The challenger that runs the user's DP training, with canaries in its steps or in its data."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import ChallengerDefaults, Coins, Transcript
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.models.dp_training.claim import TrainingClaim
from leakgauge.domains.models.dp_training.plan_tables import (
    CanaryCoin,
    DpTrainingChallengerTable,
    read_dp_training_table,
)
from leakgauge.domains.models.dp_training.replay import NOT_TRIED, UNREAD, replay
from leakgauge.domains.models.dp_training.step_watch import StepWatch, WatchedTraining
from leakgauge.domains.models.dp_training.training_run import WHERE, require_callable, run_training
from leakgauge.domains.models.dp_training.transcript import write_transcript
from leakgauge.support.cache import RecentCache
from leakgauge.support.user_code import UserCodeLoader
from leakgauge.support.work_count import TRAINING, count_work

_crafted_cache: RecentCache[tuple[Reals, ...]] = RecentCache(8)
_replay_cache: RecentCache[tuple[tuple[str, str], ...]] = RecentCache(8)
_CRAFT_SEED = 0x1417  # of trainings that no coin or noise of a round depends on
ONE_STEP = (
    "each guess is about one step of {:,}, and an attacker who sees all of them is right more often; to set "
    'limits on whole trainings use coin = "training", or black-box canaries'
)
BY_HAND = (UNREAD, NOT_TRIED.format("a loop written by hand shows its sums alone"))
CLIPPING = (UNREAD, "whether gradients are clipped one by one (ghost clipping whose factors are not seen)")
CONTROL_STEPS = 3  # of a training with one coin, in the positive control


@dataclass(frozen=True, eq=False)
class TrainingsBlock:
    """The trainings of a block of rounds.

    ``projections`` has for each round the components along the canary: of its step, or of all steps of its
    training. ``losses`` are those of black-box canaries, rounds x canaries.
    """

    trainings: Sequence[WatchedTraining]
    projections: Sequence[Reals] = ()
    losses: Reals | None = None


@dataclass(frozen=True, eq=False)
class CanaryStepsView:
    """What an attacker who knows all other gradients sees of each round: components along the canary."""

    projections: Sequence[Reals]
    _trainings: Sequence[WatchedTraining] = field(repr=False)


@dataclass(frozen=True, eq=False)
class CanaryLossesView:
    """The losses of all canaries under the model of each round."""

    losses: Reals
    _trainings: Sequence[WatchedTraining] = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class CanaryStepsKnowledge:
    """Knows the canary, everybody else's gradients and every noisy step; ``sigma`` is the noise claimed."""

    sigma: float

    def view(self, block: TrainingsBlock) -> CanaryStepsView:
        return CanaryStepsView(block.projections, block.trainings)

    def transcript(self, view: CanaryStepsView) -> Transcript:
        return write_transcript(view._trainings)  # noqa: SLF001 (hidden from attacks, not from here)


@dataclass(frozen=True, eq=False, kw_only=True)
class CanaryLossesKnowledge:
    """Knows the canaries, and can query the trained model about them."""

    def view(self, block: TrainingsBlock) -> CanaryLossesView:
        assert block.losses is not None
        return CanaryLossesView(block.losses, block.trainings)

    def transcript(self, view: CanaryLossesView) -> Transcript:
        return write_transcript(view._trainings)  # noqa: SLF001 (hidden from attacks, not from here)


@dataclass(frozen=True, eq=False, kw_only=True)
class Challenger(ChallengerDefaults):
    """Owns a training; a round is a step, a whole training, or a training with many canaries in its data."""

    train: Callable[..., Any]
    options: DpTrainingChallengerTable
    claim: TrainingClaim
    digest: str
    noiseless: bool = False  # the positive control

    @property
    def n_targets(self) -> int:
        return 1 if self.options.canaries is None or self.noiseless else self.options.canaries

    @property
    def coins(self) -> Coins:
        return Coins.FAIR

    @property
    def guarantee(self) -> Guarantee | None:
        """The claim, for canaries in the data; what its noise gives a canary that is in the batches else."""
        if self.noiseless:
            return None
        if self.options.canaries is not None:
            return self.claim.guarantee
        return self.claim.canary_guarantee(
            1 if self.options.coin is CanaryCoin.STEP else self.claim.steps,
        )

    @property
    def understated_knowledge(self) -> dict[str, str]:
        """Where each step has its own coin, attackers see one step of many: they clear nobody."""
        steps = self.claim.steps
        if self.options.canaries is not None or self.options.coin is CanaryCoin.TRAINING or steps == 1:
            return {}
        return {"strong": ONE_STEP.format(steps)}

    @property
    def notes(self) -> tuple[str, ...]:
        claim = self.claim
        crafted = self.options.initial_weights == "crafted"
        start = ("trainings start from crafted weights: those of one without noise and canaries",)
        sigma = (
            f"ε = {claim.epsilon:g} at δ = {claim.delta:g} is claimed for {claim.steps:,} steps, "
            f"{claim.sampling.value} batches at a rate of {claim.sample_rate:.4g}: by the accountant this "
            f"needs a noise multiplier of {claim.needed_sigma:.4g}"
        )
        if self.options.canaries is not None:
            return (sigma, *(start if crafted else ()))
        canary = (
            f"a canary is put into batches after the sampler, by a coin for each {self.options.coin.value}: "
            "this tests the noise and the clipping of a step; any ε of the whole training that follows is "
            "model-based"
        )
        return (sigma, canary, *(start if crafted else ()))

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, self.n_targets)) < 0.5

    def release(self, members: Bits, rng: Generator) -> TrainingsBlock:
        if self.options.canaries is not None:
            return self._with_losses(members, rng)
        if self.options.coin is CanaryCoin.TRAINING:
            return self._with_one_coin(members[:, 0], rng)
        return self._with_fresh_coins(members[:, 0], rng)

    def _with_fresh_coins(self, coins: Bits, rng: Generator) -> TrainingsBlock:
        """As many trainings as have that many steps together; the last one is ended early."""
        trainings: list[WatchedTraining] = []
        used = 0
        while used < len(coins):
            trainings.append(self._train(StepWatch(coins[used:], rng.spawn(1)[0], self.noiseless), rng))
            used += trainings[-1].n_steps
        seen = np.concatenate([training.columns["projection"] for training in trainings])
        return TrainingsBlock(trainings, projections=tuple(seen[:, None]))

    def _with_one_coin(self, coins: Bits, rng: Generator) -> TrainingsBlock:
        trainings = []
        for coin in coins:
            steps = np.full(CONTROL_STEPS if self.noiseless else 1, coin)
            watch = StepWatch(steps, rng.spawn(1)[0], self.noiseless, whole=not self.noiseless)
            trainings.append(self._train(watch, rng))
        return TrainingsBlock(trainings, projections=[one.columns["projection"] for one in trainings])

    def _with_losses(self, members: Bits, rng: Generator) -> TrainingsBlock:
        """One training for each round; in the control one for as many rounds as there are canaries."""
        n = self.options.canaries
        assert n is not None
        coins = members.ravel()
        padded = np.append(coins, rng.random(-coins.size % n) < 0.5).reshape(-1, n)
        trainings = []
        for row in padded:
            watch = StepWatch(np.empty(0, dtype=bool), rng.spawn(1)[0], self.noiseless, whole=True)
            trainings.append(self._train(watch, rng, row))
        found = np.concatenate([one.losses for one in trainings if one.losses is not None])
        return TrainingsBlock(trainings, losses=found[: coins.size].reshape(members.shape))

    def _train(self, watch: StepWatch, rng: Generator, canaries: Bits | None = None) -> WatchedTraining:
        count_work(TRAINING)
        watch.start = self._crafted_weights()
        trained = run_training(self.train, watch, rng.spawn(1)[0], canaries=canaries)
        if self.noiseless or not trained.n_steps:
            return trained
        if not watch.by_opacus:
            return trained if canaries is not None else replace(trained, replay=(BY_HAND,))
        found = _replay_cache.once((self.train, repr(self.options)), self._replay)
        clipping_seen = canaries is not None or np.isfinite(trained.columns["influence"]).any()
        return replace(trained, replay=found if clipping_seen else (*found, CLIPPING))

    def _replay(self) -> tuple[tuple[str, str], ...]:
        """What is seen where the training is run again with other rows; the same on every worker."""
        n = self.options.canaries

        def run(watching: AbstractContextManager[None], keeping: Callable[[Any], Any], seed: int) -> None:
            count_work(TRAINING)
            rng = np.random.default_rng(_CRAFT_SEED + seed)
            watch = StepWatch(np.zeros(1, dtype=np.bool_), rng.spawn(1)[0], whole=True)
            canaries = None if n is None else np.zeros(n, dtype=np.bool_)
            train = self.train if canaries is not None else keeping(self.train)
            run_training(train, watch, rng.spawn(1)[0], canaries=canaries, watching=watching)

        return replay(run)

    def _crafted_weights(self) -> tuple[Reals, ...] | None:
        """The weights at the end of a training without noise and canaries; the same on every worker."""
        if self.options.initial_weights == "own":
            return None
        return _crafted_cache.once((self.train, repr(self.options)), self._craft)

    def _craft(self) -> tuple[Reals, ...]:
        n, rng = self.options.canaries, np.random.default_rng(_CRAFT_SEED)
        watch = StepWatch(np.zeros(1, dtype=np.bool_), rng.spawn(1)[0], noiseless=True, whole=True)
        canaries = None if n is None else np.zeros(n, dtype=np.bool_)
        count_work(TRAINING)
        weights = run_training(self.train, watch, rng.spawn(1)[0], canaries=canaries).weights
        if weights is None:
            raise BadInput(
                "challenger.initial_weights: the weights of the training are not known; in a loop written by "
                "hand call watch.start_from with the arrays of its weights before the first step"
            )
        return weights

    def control(self) -> "Challenger":
        """The same training with a noise multiplier of 0; of a hand-written loop, its sums without noise."""
        return replace(self, noiseless=True, digest=sha256(f"control {self.digest}".encode()).hexdigest())

    def knowledge(self, name: str) -> CanaryStepsKnowledge | CanaryLossesKnowledge:
        """What an attacker may know of the training."""
        match name:
            case "strong" if self.options.canaries is None:
                return CanaryStepsKnowledge(sigma=self.claim.needed_sigma)
            case "black_box" if self.options.canaries is not None:
                return CanaryLossesKnowledge()
        fits = "'strong' (attack gradient_canary)"
        if self.options.canaries is not None:
            fits = "'black_box' (attack canary_loss)"
        raise BadInput(f"knowledge {name!r} does not fit this audit of a DP training; use {fits}")


def build(
    *,
    data: dict[str, Any],
    challenger: dict[str, Any],
    mechanism: dict[str, Any],
    folder: Path,
    seed: int,  # noqa: ARG001 (the training reads its own data)
) -> Challenger:
    """Build the challenger that the tables of a plan describe."""
    if data or mechanism:
        given = "data" if data else "mechanism"
        raise BadInput(f"{given}: a DP training of one's own has its data and noise itself; leave it out")
    options, claim = read_dp_training_table(challenger)
    loader = UserCodeLoader(folder)
    train = loader.load(options.dp_training, WHERE)
    return build_for_function(train, options, claim, repr(sorted(loader.sources.items())))


def build_for_function(
    train: Callable[..., Any], options: DpTrainingChallengerTable, claim: TrainingClaim, source: str
) -> Challenger:
    """Build the challenger of a function; ``source`` is its text, for the digest."""
    require_callable(train, canaries=options.canaries is not None)
    identity = "\n".join((repr(options), repr(claim), source))
    digest = sha256(identity.encode(errors="surrogatepass")).hexdigest()
    return Challenger(train=train, options=options, claim=claim, digest=digest)
