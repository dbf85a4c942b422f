"""Calls the user's training once, with its steps watched and its random numbers seeded."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.dp_training.opacus_hook import watching_opacus
from leakgauge.domains.models.dp_training.step_watch import EnoughSteps, StepWatch, WatchedTraining
from leakgauge.support.global_rng import seeded_global_generators
from leakgauge.support.user_code import error_with_location

WHERE = "challenger.dp_training"
PARAMETERS = ("watch", "seed", "rng", "canaries")


def require_callable(train: Any, *, canaries: bool) -> None:
    """Refuse a training that cannot be called with what there is."""
    if not callable(train):
        raise BadInput(f"{WHERE}: must be a function that trains once, got {type(train).__name__}")
    parameters = inspect.signature(train).parameters.values()
    unknown = [
        one.name
        for one in parameters
        if one.default is one.empty
        and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        and one.name not in PARAMETERS
    ]
    if unknown:
        raise BadInput(
            f"{WHERE}: the training has a parameter {unknown[0]!r} without a default; it is called with "
            f"those of {', '.join(PARAMETERS)} that it has"
        )
    has_canaries = "canaries" in inspect.signature(train).parameters
    if canaries != has_canaries:
        raise BadInput(
            f"{WHERE}: black-box canaries need a training with the parameter canaries, which ones are in the "
            "data, that returns the loss of each"
            if canaries
            else f"{WHERE}: the training has a parameter canaries; add challenger.canaries, their number"
        )


def run_training(
    train: Callable[..., Any],
    watch: StepWatch,
    rng: Generator,
    *,
    canaries: Bits | None = None,
    watching: AbstractContextManager[None] | None = None,
) -> WatchedTraining:
    """Train once; it is ended early where no further step is needed. ``watching`` watches it otherwise."""
    given = {"watch": watch, "seed": int(rng.integers(2**31)), "rng": rng.spawn(1)[0], "canaries": canaries}
    wanted = inspect.signature(train).parameters
    complete, returned = True, None
    with (
        seeded_global_generators(rng),
        _seeded_torch(int(rng.integers(2**62))),
        watching or watching_opacus(watch, by_hand="watch" in wanted),
    ):
        try:
            returned = train(**{name: value for name, value in given.items() if name in wanted})
        except EnoughSteps:
            complete = False
        except BadInput as error:
            raise BadInput(f"{WHERE}: {error}") from error
        except Exception as error:
            raise BadInput(f"{WHERE} raised {error_with_location(error)}") from error
    losses = None if canaries is None else _read_losses(returned, canaries.size)
    if canaries is None and not watch.n_steps and watching is None:
        raise BadInput(
            f"{WHERE}: no noisy step was seen; train with the PrivacyEngine of Opacus, or give the function "
            "a parameter watch and call watch.add_canary and watch.step in every step"
        )
    return watch.watched(complete=complete, losses=losses)


def _read_losses(returned: Any, n_canaries: int) -> Reals:
    plain = returned.detach().cpu().numpy() if hasattr(returned, "detach") else returned
    try:
        losses = np.asarray(plain, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        losses = np.empty(0)
    if losses.size != n_canaries or not np.isfinite(losses).all():
        raise BadInput(f"{WHERE}: must return {n_canaries} finite losses, one for each canary")
    return losses


@contextmanager
def _seeded_torch(seed: int) -> Iterator[None]:
    """Seed the global generator of PyTorch within the context, if anything has imported PyTorch."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
