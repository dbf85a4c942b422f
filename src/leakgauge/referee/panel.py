"""All questions of the referee at once."""

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee import metrics
from leakgauge.referee.estimate import Estimate


class EpsilonMetric(Protocol):
    """A lower confidence bound on epsilon."""

    def __call__(self, trials: Trials) -> Estimate: ...

    def from_counts(self, hits: int, misses: int, alarms: int, silences: int) -> float:
        """Bound for an attack that says "in" or "out" on every trial, with these counts."""
        ...


def rate_metrics(requested: Collection[str] = ()) -> dict[str, Callable[..., Callable[[Trials], Estimate]]]:
    """Name every metric that is not a bound on epsilon; a file may hold several variants.

    Some are there on request only: those of a file whose ``ON_REQUEST`` is among the ``requested``.
    """
    found: dict[str, Callable[..., Callable[[Trials], Estimate]]] = {}
    for file in iter_modules(metrics.__path__):
        if not file.name.startswith("epsilon_"):
            module = import_module(f"{metrics.__name__}.{file.name}")
            if getattr(module, "ON_REQUEST", None) not in (None, *requested):
                continue
            variants: Mapping[str, dict[str, Any]] = getattr(module, "VARIANTS", {file.name: {}})
            for name, parameters in variants.items():
                found[name] = _with(module.Metric, parameters)
    return found


def ask(metric: Callable[[Trials], Estimate], trials: Trials, confidence: float) -> Estimate:
    """Ask one metric; where the trials break its assumptions, the answer says so."""
    try:
        return metric(trials)
    except BadInput as refusal:
        return Estimate(value=None, confidence=confidence, method="none", reason=str(refusal))


def _with(metric: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    return lambda **more: metric(**parameters, **more)
