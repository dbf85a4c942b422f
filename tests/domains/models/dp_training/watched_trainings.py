"""Trainings to be watched, right and wrong: loops in NumPy, and Opacus with the bugs that people write."""

import warnings
from contextlib import nullcontext

import numpy as np

from leakgauge.core.game import Adversary
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.attacks import gradient_canary
from leakgauge.domains.models.dp_training.challenger import build_for_function
from leakgauge.domains.models.dp_training.conformance import compare_transcripts
from leakgauge.domains.models.dp_training.plan_tables import read_dp_training_table
from leakgauge.domains.models.training.gradient_descent import TrainingRecipe, initial_network, training_steps
from leakgauge.domains.models.training.mlp import clipped_gradient_sum
from leakgauge.domains.models.training.noise_calibration import DpSgdNoise
from leakgauge.domains.models.training.optimizers import Sgd
from leakgauge.domains.models.training.schedule import TrainingSchedule
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.referee.conformance import decide_conformance

ROWS, BATCH, STEPS = 400, 40, 100
CLAIM = {"epsilon": 4.0, "sample_rate": BATCH / ROWS, "steps": STEPS}
SIGMA = 1.38606  # that the claim needs


def numpy_loop(scale=1.0, steps=STEPS, sigma=SIGMA, n_parameters=8, clip=0.5):
    """Linear regression by DP-SGD with Poisson batches."""

    def train(watch, rng):
        rows = rng.normal(size=(ROWS, n_parameters))
        values, weights = rows[:, 0] + rng.normal(size=ROWS), np.zeros(n_parameters)
        for _ in range(steps):
            batch = rng.random(ROWS) < BATCH / ROWS
            gradients = (rows[batch] @ weights - values[batch])[:, None] * rows[batch]
            gradients = watch.add_canary(gradients, clip=clip)
            lengths = np.linalg.norm(gradients, axis=1)
            total = np.minimum(1.0, clip / lengths) @ gradients
            noisy = total + scale * sigma * clip * rng.normal(size=n_parameters)
            watch.step(total, noisy)
            weights -= 0.1 * noisy / BATCH

    return train


def our_training(scale=1.0):
    """A network by the package's own DP-SGD; its clipped sums are computed again from what a step shows."""
    schedule = TrainingSchedule(rows=ROWS, batch=BATCH, epochs=STEPS * BATCH // ROWS)
    recipe = TrainingRecipe(
        schedule=schedule, noise=DpSgdNoise(sigma=scale * SIGMA), hidden=(4,), optimizer=Sgd(rate=0.1)
    )

    def train(watch, rng):
        rows = rng.normal(size=(ROWS, 6)).astype(np.float32)
        examples = Examples(rows, (rows[:, 0] > 0).astype(np.int64), 2)
        network, steps = initial_network(examples, recipe, rng)
        for step in training_steps(examples, recipe, network, steps):
            batch = examples.take(step.batch)
            total = clipped_gradient_sum(step.network, batch.rows, batch.labels, 1.0)
            watch.step(total, step.released, clip=1.0, batch_size=len(step.batch))

    return train


def opacus_training(
    *,
    scale=1.0,
    poisson=True,
    change=lambda optimizer: None,
    steps=STEPS,
    sigma=SIGMA,
    physical_batch=None,
    batch=BATCH,
    max_grad_norm=0.5,
    **options,
):
    """Logistic regression with the PrivacyEngine; ``change`` plants a bug in the optimizer."""

    def train():
        import torch
        from opacus import PrivacyEngine
        from opacus.utils.batch_memory_manager import BatchMemoryManager
        from torch.utils.data import DataLoader, TensorDataset

        rows = torch.randn(ROWS, 10)
        labels = (rows[:, 0] + torch.randn(ROWS) > 0).long()
        model = torch.nn.Linear(10, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = PrivacyEngine().make_private(
                module=model,
                optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
                data_loader=DataLoader(TensorDataset(rows, labels), batch_size=batch, shuffle=True),
                noise_multiplier=scale * sigma,
                max_grad_norm=max_grad_norm,
                poisson_sampling=poisson,
                **options,
            )
            model, optimizer, loader = made[0], made[1], made[-1]
            loss = made[2] if len(made) == 4 else torch.nn.CrossEntropyLoss()
            change(optimizer)
            parts = nullcontext(loader)
            if physical_batch is not None:
                parts = BatchMemoryManager(
                    data_loader=loader, max_physical_batch_size=physical_batch, optimizer=optimizer
                )
            with parts as batches:
                for _ in range(-(-steps * batch // ROWS)):
                    for features, label in batches:
                        optimizer.zero_grad()
                        loss(model(features), label).backward()
                        optimizer.step()

    return train


def watched(train, seed=1, rounds=STEPS, claim=CLAIM, **options):
    """What is found about a training, and the scores of the attack: an audit without its files."""
    table = {"dp_training": "own:train", "claim": claim, **options}
    read, stated = read_dp_training_table(table)
    challenger = build_for_function(train, read, stated, "")
    members = challenger.flip(rounds, stream(seed, Role.BITS, 0))
    block = challenger.release(members, stream(seed, Role.RELEASE, 0))
    knowledge = challenger.knowledge("strong")
    scorer = gradient_canary.Attack().study(knowledge, stream(seed, Role.STUDY))
    scored = Adversary(knowledge, scorer).score_with_accounts(block, stream(seed, Role.SCORE, 0))
    found = compare_transcripts([scored.transcript], challenger=table, mechanism={}, folder=None)
    return Found(found, members, scored.scores)


class Found:
    """The comparison of one audit."""

    def __init__(self, conformance, members, scores):
        self.conformance, self.members, self.scores = conformance, members, scores

    def p_value(self, name):
        (test,) = [test for test in self.conformance.tests if test.name == name]
        return test.p_value

    def decided(self, error):
        return decide_conformance(self.conformance, error)

    @property
    def accuracy(self):
        return float(((self.scores >= 0) == self.members).mean())
