"""What transcripts show besides the game: how it is divided into certain findings and tests, and decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.referee.noise_tests import CERTAIN, NoiseTest, holm


@dataclass(frozen=True, kw_only=True)
class Conformance:
    """How the transcripts of one attacker compare with the statement; sentences hold no personal value.

    Attributes:
        certain: Violations whose probability under the statement is below 1e-12.
        departures: What is not as stated with the same certainty, though it shows no larger epsilon.
        tests: Tests whose rejection has a small probability under the statement.
        dependent: Why the rounds are not independent, so that the game says nothing; None if they are.
        unanswered: What was refused and the way out, where nothing was answered; else None.
        unread: What came back, or happened, and no attack and no test read: short names, such as "the field
            train_loss of a reply". Nobody is cleared beside them.
        for_any_epsilon: Whether what is certain would violate a promise with any other epsilon too.
    """

    certain: tuple[str, ...] = ()
    departures: tuple[str, ...] = ()
    tests: tuple[NoiseTest, ...] = ()
    dependent: str | None = None
    unanswered: str | None = None
    unread: tuple[str, ...] = ()
    for_any_epsilon: bool = True


@dataclass(frozen=True, kw_only=True)
class ConformanceResult:
    """What is decided at an error: sentences on violations, and on what else is not as stated."""

    certain: bool  # whether a violation needs no statistics
    violations: tuple[str, ...]
    departures: tuple[str, ...]
    rows: list[dict[str, Any]]  # one for each test


def decide_conformance(found: Conformance, error: float) -> ConformanceResult:
    """Decide all tests together, with Holm's correction."""
    rejections = _rejections(found.tests, error)
    rejected = [test for test, reject in zip(found.tests, rejections) if reject]
    needed = error / max(len(found.tests), 1)  # for the smallest p-value by Holm's method
    return ConformanceResult(
        certain=bool(found.certain) or any(test.violates and test.p_value < CERTAIN for test in rejected),
        violations=(*found.certain, *(_sentence(test) for test in rejected if test.violates)),
        departures=(*found.departures, *(_sentence(test) for test in rejected if not test.violates)),
        rows=[
            {
                "name": test.name,
                "p_value": float(test.p_value),
                "n": int(test.n),
                "rejected": reject,
                "violates": test.violates,
                "reveals": test.reveals,
                **({} if test.right is None else {"right": test.right, "channel": test.channel}),
                "unnoticed": test.unnoticed if not reject and test.fault_p_value > needed else "",
            }
            for test, reject in zip(found.tests, rejections)
        ],
    )


def _rejections(tests: Sequence[NoiseTest], error: float) -> list[bool]:
    if not tests or error <= 0:
        return [False] * len(tests)
    return [bool(reject) for reject in holm([test.p_value for test in tests], error)]


def _sentence(test: NoiseTest) -> str:
    """What a rejection says, with how improbable the values are under the statement."""
    said = f"{test.finding[:1].upper()}{test.finding[1:]}"
    return f"{said} ({chance_words(test.p_value)}, {test.n:,} values)."


_RARE = ((1e-12, "trillion"), (1e-9, "billion"), (1e-6, "million"))


def chance_words(p_value: float) -> str:
    """How often chance alone gives such values, in words; the p-value itself is in the appendix.

    >>> chance_words(4e-15), chance_words(2e-8), chance_words(0.004)
    ('by chance less than once in a trillion times', 'by chance less than once in a million times', \
'by chance once in 250 times')
    """
    for most, name in _RARE:
        if p_value < most:
            return f"by chance less than once in a {name} times"
    return f"by chance once in {float(f'{1 / p_value:.2g}'):,.0f} times"
