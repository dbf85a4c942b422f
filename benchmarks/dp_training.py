"""A step of DP-Adam with closed-form norms, compared with Opacus and with Adam in torch without privacy.

A network of 2 x 256 units on 104 features and two classes, batches of 200 of 10,000 rows, clip 1: CPU time of
a step, taking the rows out of the table included. One thread, one model at a time.
"""

import warnings
from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np

from benchmarks.measure import Timing, ratio, repeat, sized
from leakgauge.domains.models.training.gradient_descent import TrainingRecipe, training_steps
from leakgauge.domains.models.training.mlp import MlpShape, glorot_network
from leakgauge.domains.models.training.noise_calibration import DpSgdNoise
from leakgauge.domains.models.training.schedule import TrainingSchedule, epoch_batches
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.support.threads import single_threaded

ROWS, FEATURES, STEPS, REPEATS, SIGMA, SEED = sized(10_000, 500), 104, sized(20, 1), 7, 1.68, 1
GOALS = {"Opacus, ghost clipping": "goal >= 2 x", "Opacus, default": "goal >= 15 x"}
PLAIN = "Adam in torch, no privacy"


def run() -> str:
    import torch

    torch.set_num_threads(1)
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return "\n".join(_compare(_examples()))


def _compare(examples: Examples) -> Iterator[str]:
    ours = _per_step(_closed_form(examples))
    yield f"DP-Adam, closed form: {_shown(ours)} per step; 5,000 steps in {5_000 * ours.median:.0f} s"
    others = {
        PLAIN: _in_torch(examples, None),
        "Opacus, ghost clipping": _in_torch(examples, "ghost"),
        "Opacus, default": _in_torch(examples, "hooks"),
    }
    for name, step in others.items():
        theirs = _per_step(step)
        if name == PLAIN:
            yield f"- {name}: {_shown(theirs)}; ours costs {ratio(ours, theirs)}, goal <= 2 x"
        else:
            yield f"- {name}: {_shown(theirs)}; {ratio(theirs, ours)} ours, {GOALS[name]}"


def _per_step(step: Callable[[], object]) -> Timing:
    def work() -> None:
        for _ in range(STEPS):
            step()

    return Timing(tuple(seconds / STEPS for seconds in repeat(work, REPEATS).seconds))


def _shown(timing: Timing) -> str:
    low, high = min(timing.seconds), max(timing.seconds)
    return f"{1e3 * timing.median:.2f} ms ({1e3 * low:.2f} to {1e3 * high:.2f})"


def _closed_form(examples: Examples) -> Callable[[], object]:
    network = glorot_network(MlpShape(FEATURES, 2), np.random.default_rng(SEED))
    recipe = TrainingRecipe(
        schedule=TrainingSchedule(rows=ROWS, epochs=200_000), noise=DpSgdNoise(sigma=SIGMA)
    )
    training = training_steps(examples, recipe, network, np.random.default_rng(SEED))
    return lambda: next(training)


def _in_torch(examples: Examples, mode: str | None) -> Callable[[], object]:
    import torch

    layers = [torch.nn.Linear(FEATURES, 256), torch.nn.Linear(256, 256), torch.nn.Linear(256, 2)]
    module = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    optimizer, criterion = torch.optim.Adam(module.parameters(), lr=0.01), torch.nn.CrossEntropyLoss()
    rows, labels = torch.from_numpy(examples.rows), torch.from_numpy(examples.labels)
    if mode is not None:
        import opacus

        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, labels), batch_size=200)
        module, optimizer, *rest = opacus.PrivacyEngine().make_private(
            module=module,
            optimizer=optimizer,
            criterion=criterion,
            data_loader=loader,
            noise_multiplier=SIGMA,
            max_grad_norm=1.0,
            poisson_sampling=False,
            grad_sample_mode=mode,
        )
        criterion = rest[0] if mode == "ghost" else criterion
    batches = cycle(next(epoch_batches(TrainingSchedule(rows=ROWS), np.random.default_rng(SEED))))

    def step() -> None:
        batch = torch.from_numpy(next(batches))
        optimizer.zero_grad()
        criterion(module(rows[batch]), labels[batch]).backward()
        optimizer.step()

    return step


def _examples() -> Examples:
    rng = np.random.default_rng(SEED)
    rows = rng.random((ROWS, FEATURES), dtype=np.float32)
    return Examples(rows, (rows[:, :10].sum(axis=1) > 5).astype(np.int64), 2)
