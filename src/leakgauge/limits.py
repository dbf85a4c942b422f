"""Limits: what the owner of a release allows an attacker to reach, from a plan or a policy file.

A limit is the owner's own; the promise (epsilon) is the mechanism's. Limits decide no trial, so a run can be
judged against other limits at any time.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakgauge.core.errors import BadInput
from leakgauge.support.files import path_argument
from leakgauge.support.table_reader import convert_value, require_known
from leakgauge.support.toml_values import toml_line_problem

if TYPE_CHECKING:
    from leakgauge.referee.metric_protocol import RateMetric

LIMIT_SETTINGS = {"attackers": tuple[str, ...], "recognised": float, "recognised_at": float, "none": bool}
RECOGNISED_AT = 0.9


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the owner of a release allows.

    Attributes:
        metrics: The largest value allowed, by the name of the metric: `accuracy`, `auc`, `tpr_at_fpr_0.01`.
        attackers: Whose success counts, by what they know or by their label; every attacker if empty.
        recognised: The largest share of people who may be recognised, as `leakgauge expose` counts them.
        recognised_at: From which accuracy on a person counts as recognised.
        none: Declares that no limit is wanted, as in research.
        file: The policy file they were read from, for messages.
        assumed: The keys that nobody stated: a plan lists them as assumed.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    attackers: tuple[str, ...] = ()
    recognised: float | None = None
    recognised_at: float = RECOGNISED_AT
    none: bool = False
    file: str | None = field(default=None, compare=False)
    assumed: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        metrics = convert_value(dict[str, Any], self.metrics, "metrics")
        numbers = {name: convert_value(float, limit, name) for name, limit in metrics.items()}
        object.__setattr__(self, "metrics", numbers)
        for name, kind in LIMIT_SETTINGS.items():
            value = vars(self)[name]
            if value is not None or name != "recognised":
                object.__setattr__(self, name, convert_value(kind, value, name))
        if self.none and self.any_stated:
            raise BadInput("none = true says that there is no limit, but one is stated; remove one of them")
        if self.recognised is not None and not 0 < self.recognised < 1:
            raise BadInput(
                f"recognised: must be a share of people above 0, which no result can be below, and below 1, "
                f"which none can exceed; got {self.recognised:g}; write 0.01 for 1 %"
            )
        if not 0.5 < self.recognised_at <= 1 or round(self.recognised_at, 2) != self.recognised_at:
            raise BadInput(
                f"recognised_at: must be above 0.5 and at most 1, in steps of 0.01, got {self.recognised_at}"
            )
        for name, limit in self.metrics.items():
            _check_limit(name, limit)

    @property
    def any_stated(self) -> bool:
        """Whether any limit is stated."""
        return bool(self.metrics) or self.recognised is not None

    def counts(self, knowledge: str, label: str) -> bool:
        """Whether the success of this attacker counts."""
        return not self.attackers or knowledge in self.attackers or label in self.attackers

    def table(self) -> dict[str, Any]:
        """The table as a plan writes it; empty where nothing is stated."""
        table: dict[str, Any] = dict(self.metrics)
        if self.attackers:
            table["attackers"] = list(self.attackers)
        if self.recognised is not None:
            table["recognised"] = self.recognised
        if self.recognised_at != RECOGNISED_AT:
            table["recognised_at"] = self.recognised_at
        if self.none:
            table["none"] = True
        return table


def _check_limit(name: str, limit: float) -> None:
    """Refuse a limit that no result can be below, and one that none can exceed: both would say nothing."""
    require_known(name, list(limited_metrics()), "no limit")
    chance = limited_metrics()[name] or 0.0
    if not limit > chance:
        reason = "guessing reaches that by chance" if chance else "no result is below 0"
        raise BadInput(
            f"{name}: must be above {chance:g}, got {limit:g}; {reason}, so no release could be within it"
        )
    if not limit < 1:
        raise BadInput(
            f"{name}: must be below 1, got {limit:g}; no attacker exceeds 1, so no release could be over it; "
            "write 0.6 for 60 %"
        )


NO_LIMITS = Limits()


def read_limits(table: Mapping[str, Any], where: str) -> Limits:
    """Check the table ``[limits]`` of a plan or a policy file.

    >>> read_limits({"accuracy": 0.6, "attackers": ["informed"]}, "plan.toml: limits").metrics
    {'accuracy': 0.6}
    """
    table = convert_value(dict[str, Any], table, where)
    if not table:
        return NO_LIMITS
    known = list(limited_metrics())
    if "epsilon" in table:
        raise BadInput(
            f"{where}.epsilon: an audit bounds epsilon from below only, so no run could be within it; "
            "limit accuracy instead"
        )
    for key, value in table.items():
        if isinstance(value, Mapping):
            raise BadInput(f'{where}: names with a dot need quotes, such as "tpr_at_fpr_0.01" = 0.05')
        require_known(key, [*LIMIT_SETTINGS, *known], f"{where}: no limit")
    settings = {
        key: convert_value(kind, table[key], f"{where}.{key}")
        for key, kind in LIMIT_SETTINGS.items()
        if key in table
    }
    metrics = {
        key: convert_value(float, value, f"{where}.{key}")
        for key, value in table.items()
        if key not in LIMIT_SETTINGS
    }
    try:
        return Limits(metrics=metrics, **settings)
    except BadInput as error:
        joint = ": " if str(error).startswith("none") else "."
        raise BadInput(f"{where}{joint}{error}") from None


def read_policy(path: str | Path) -> Limits:
    """Read a policy file: a TOML file with a table ``[limits]`` and nothing else."""
    path = path_argument(path, "policy")
    try:
        text = path.read_text(encoding="utf-8-sig")
        table = tomllib.loads(text)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such policy file; check the path") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: {toml_line_problem(text, error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadInput(f"{path}: cannot be read ({reason}); a policy is a TOML file") from None
    if "audit" in table:
        raise BadInput(
            f"{path}: this is a plan, and a policy has a table [limits] and nothing else; copy [limits] of "
            "the plan into a file of its own, or leave out --policy: a run keeps the limits of its plan"
        )
    for key in table:
        if key != "limits" and not isinstance(table[key], dict):
            raise BadInput(f"{path}: {key!r} stands outside of a table; write [limits] above it")
        require_known(key, ["limits"], f"{path}: no table")
    if "limits" not in table:
        raise BadInput(f"{path}: no table [limits] in it; add [limits] and a line such as accuracy = 0.6")
    limits = require_stated(read_limits(table["limits"], f"{path}: limits"), f"{path}: limits")
    return replace(limits, file=str(path))


def require_stated(limits: Limits, where: str) -> Limits:
    """Refuse a table of limits without a limit: a line that was commented out must not let a release pass."""
    if not limits.any_stated and not limits.none:
        raise BadInput(f"{where}: no limit in it; add accuracy = 0.6, or none = true for research")
    return limits


def limited_metrics() -> dict[str, float | None]:
    """Name the metrics that can have a limit, each with what guessing reaches by chance.

    Those to which the limit of another one applies are left out.

    >>> limited_metrics()["accuracy"], "accuracy_own" in limited_metrics()
    (0.5, False)
    """
    described = {name: metric() for name, metric in _rate_metrics().items()}
    return {name: metric.chance_level for name, metric in described.items() if metric.limited_as is None}


def metrics_under_limit(name: str) -> tuple[tuple[str, ...], str]:
    """The metrics to which the limit on a metric applies, and the metric itself.

    The metric itself counts only where its mean over targets is not known.

    >>> metrics_under_limit("accuracy")
    (('accuracy_mean', 'accuracy_own'), 'accuracy')
    """
    return tuple(other for other, metric in _rate_metrics().items() if metric().limited_as == name), name


def has_sequence(name: str) -> bool:
    """Whether all metrics to which the limit on a metric applies have bounds that may be read at any time.

    >>> has_sequence("accuracy"), has_sequence("auc")
    (True, False)
    """
    others, itself = metrics_under_limit(name)
    return all(_rate_metrics()[metric]().has_sequence for metric in (*others, itself))


def _rate_metrics() -> "dict[str, Callable[..., RateMetric]]":
    from leakgauge.referee.metric_evaluation import rate_metrics

    return rate_metrics()
