"""What is varied: the audit of a plan that is tuned, and the values that its keys may take."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from math import floor, log10
from typing import Any, TypeAlias

from leakgauge.core.domain import Domain, Tunable
from leakgauge.core.errors import BadInput
from leakgauge.plan import Audit, Plan, Stop
from leakgauge.support.table_reader import require_known

Setting: TypeAlias = Mapping[str, Any]  # the value of each varied key
DIGITS = 3  # significant digits of a number that is suggested

_TABLES = ("data", "challenger", "mechanism")


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """One key that is varied: over a range of numbers, or over a list that begins with the most useful."""

    tunable: Tunable
    values: tuple[Any, ...] = ()

    @property
    def key(self) -> str:
        return self.tunable.key

    @property
    def is_range(self) -> bool:
        return self.tunable.is_range

    @property
    def useful_end(self) -> float:
        """The end of a range at which there is least protection."""
        low, high = self.ends
        return high if self.tunable.safer == "smaller" else low

    @property
    def safe_end(self) -> float:
        """The end of a range at which there is most protection."""
        low, high = self.ends
        return low if self.tunable.safer == "smaller" else high

    @property
    def ends(self) -> tuple[float, float]:
        assert self.tunable.low is not None
        assert self.tunable.high is not None
        return self.tunable.low, self.tunable.high

    def usefulness(self, value: Any) -> float:
        """Larger for a value that protects less."""
        if self.is_range:
            return float(value) if self.tunable.safer == "smaller" else -float(value)
        return -float(self.values.index(value))

    def rounded(self, value: float) -> float:
        """The nearest number of three digits that is not less safe.

        >>> epsilon = Dimension(tunable=Tunable(key="a.b", title="b", low=0.1, high=10.0))
        >>> epsilon.rounded(0.446287), epsilon.rounded(2.0), epsilon.rounded(12.348)
        (0.446, 2.0, 12.3)
        """
        places = DIGITS - 1 - floor(log10(value))
        up = self.tunable.safer == "larger"
        steps = value * 10.0**places
        whole = floor(steps + 1e-9) if not up else -floor(-steps + 1e-9)
        return round(whole * 10.0**-places, max(0, places))

    def next_useful(self, value: float) -> float:
        """The next number of three digits that protects less.

        >>> Dimension(tunable=Tunable(key="a.b", title="b", low=0.1, high=10.0)).next_useful(0.445)
        0.446
        """
        places = DIGITS - 1 - floor(log10(value) + 1e-12)
        step = 10.0**-places if self.tunable.safer == "smaller" else -(10.0**-places)
        return round(value + step, max(0, places + 1))


def find_audit(plan: Plan, name: str | None, vary: Sequence[str]) -> Audit:
    """The audit to tune; points of a sweep that differ in varied keys only are one audit."""
    audits: dict[str, Audit] = {}
    for audit in plan.audits:
        audits.setdefault(_name_without(audit.name, vary), audit)
    if name is not None:
        require_known(name, list(audits), "--audit: no audit")
        return _plain(audits[name], name)
    if len(audits) > 1:
        known = ", ".join(audits)
        raise BadInput(
            f"the plan has {len(audits)} audits, and tune works on one release; add --audit NAME, one of: "
            f"{known}"
        )
    ((name, audit),) = audits.items()
    return _plain(audit, name)


def _plain(audit: Audit, name: str) -> Audit:
    return replace(audit, name=name, stop=Stop.ROUNDS)


def _name_without(name: str, vary: Sequence[str]) -> str:
    """The name of an audit without the values of a sweep over varied keys.

    >>> _name_without("city@epsilon=0.5,suppress=1", ["mechanism.epsilon"])
    'city@suppress=1'
    """
    base, _, suffix = name.partition("@")
    short = {part for key in vary for part in (key, key.rpartition(".")[2])}
    kept = [part for part in suffix.split(",") if part and part.partition("=")[0] not in short]
    return "@".join([base, ",".join(kept)]) if kept else base


def varied_keys(domain: Domain, plan: Plan, vary: Sequence[str] | None) -> list[str]:
    """The keys to vary: those that are named, or those that the domain proposes for this plan."""
    known = [tunable.key for tunable in domain.tunable]
    if vary is not None:
        if not vary:
            raise BadInput(f"--vary: no key in it; write one of {', '.join(known) or 'none'}")
        for key in vary:
            require_known(key, known, f"--vary: no key that can be tuned in domain {domain.name!r}")
        return list(dict.fromkeys(vary))
    audits = [audit for audit in plan.audits if audit.domain == domain.name]
    proposed = [
        tunable.key
        for tunable in domain.tunable
        if tunable.by_default and any(tunable.obstacle(vars(audit)) is None for audit in audits)
    ]
    if not proposed:
        for audit, tunable in product(audits, domain.tunable):
            if (reason := tunable.stated_obstacle(vars(audit))) is not None:
                raise BadInput(f"audit {audit.name!r}: {reason}")
        raise BadInput(
            f"nothing in this plan can be tuned by itself: in domain {domain.name!r} leakgauge can vary "
            f"{', '.join(known) or 'nothing'}, and the plan sets none of these for noise that leakgauge "
            "adds; name a key with --vary, or change your own code and audit it again"
        )
    return proposed


def find_dimensions(domain: Domain, audit: Audit, vary: Sequence[str]) -> tuple[Dimension, ...]:
    """The keys that are varied in an audit, with their values; refuse a key that has no effect there."""
    chosen = [tunable for tunable in domain.tunable if tunable.key in vary]
    for tunable in chosen:
        if (obstacle := tunable.obstacle(vars(audit))) is not None:
            raise BadInput(f"--vary: {tunable.key} cannot be tuned in audit {audit.name!r}: {obstacle}")
    ranges = [tunable.key for tunable in chosen if tunable.is_range]
    if len(ranges) > 1:
        raise BadInput(f"--vary: {' and '.join(ranges)} both set how much noise there is; vary one of them")
    return tuple(_dimension(tunable, domain, audit) for tunable in chosen)


def _dimension(tunable: Tunable, domain: Domain, audit: Audit) -> Dimension:
    if tunable.is_range:
        return Dimension(tunable=tunable)
    if tunable.steps is None:
        return Dimension(tunable=tunable, values=tunable.values)
    stated = tunable.value_in(vars(audit))
    return Dimension(tunable=tunable, values=tuple(domain.load(tunable.steps)(stated)))


def coarser_steps(domain: Domain, audit: Audit) -> list[tuple[Dimension, ...]]:
    """Ever coarser values of the keys that are varied where nothing useful is found without them.

    Each step takes the next value of one key, in turns; keys that still have the value of the plan are left
    out.
    """
    lists = [
        _dimension(tunable, domain, audit)
        for tunable in domain.tunable
        if tunable.if_useless and tunable.obstacle(vars(audit)) is None
    ]
    places, steps = [0] * len(lists), []
    for level in range(1, max((len(one.values) for one in lists), default=0)):
        for number, one in enumerate(lists):
            if level < len(one.values):
                places[number] = level
                steps.append(
                    tuple(replace(one, values=(one.values[at],)) for one, at in zip(lists, places) if at)
                )
    return steps


def with_setting(audit: Audit, setting: Setting) -> Audit:
    """The audit with these values.

    >>> from leakgauge.plan import plan_of
    >>> audit = plan_of({"audit": [{"name": "a", "domain": "blackbox"}]}).audits[0]
    >>> with_setting(audit, {"mechanism.epsilon": 0.5}).mechanism
    {'epsilon': 0.5}
    """
    tables = {name: deepcopy(vars(audit)[name]) for name in _TABLES}
    for key, value in setting.items():
        name, *path, last = key.split(".")
        table = tables[name]
        for part in path:
            table = table[part]
        table[last] = value
    return replace(audit, **tables)
