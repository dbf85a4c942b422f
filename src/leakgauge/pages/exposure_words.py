"""What is said of an exposure, on its page and on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from leakgauge.pages import words
from leakgauge.pages.numbers import count, level, number, percent, upper

SHARES = ("0.5", "0.95", "1.0")  # of the people, who are exposed at most so much


def many(audit: Mapping[str, Any]) -> str:
    """What the exposed are: people, or the records of a log.

    >>> many({"unit": "record"}), many({})
    ('records', 'people')
    """
    return "records" if audit.get("unit") == "record" else "people"


def question(audits: Sequence[Mapping[str, Any]]) -> str:
    """What ``answer`` answers."""
    whom = " and ".join(dict.fromkeys(map(many, audits))) or "people"
    return f"How many {whom} could be recognised?"


def spent(audit: Mapping[str, Any]) -> list[str]:
    """What the answers of a log have cost its records; nothing for people of a plan."""
    if "spent" not in audit:
        return []
    found = audit["spent"]
    most = found["delta"]["1.0"]
    at = f", at δ of at most {number(most)}" if most else ""
    numbers = " / ".join(count(int(found["answers"][share])) for share in SHARES)
    return [
        f"Answers that contain them: {numbers}",
        f"ε of those answers, by sequential composition{at}: {epsilons(found['epsilon'])}",
    ]


def answer(audit: Mapping[str, Any]) -> str:
    """How many each adversary would recognise, and how well it does against the most exposed one.

    It answers ``question``, and is empty where that was not counted.
    """
    against = audit["adversaries"]
    if not against or any("recognised" not in one for one in against):
        return ""
    first, *others = against
    people = [f"{first['adversary']} would recognise {_people(audit, first)}"]
    people += [f"{one['adversary']} {_people(audit, one)}" for one in others]
    most = [amount(one["metrics"]["accuracy"]["quantiles"]["1.0"], share=True) for one in against]
    sure = level(first["recognised"]["accuracy"])
    return (
        f"Of {count(audit['people'])} {many(audit)}, {_and(people)}: right about them at least {sure} of the "
        f"time, and about the most exposed one {most[0] if len(set(most)) == 1 else _and(most)}."
    )


def recognised(audit: Mapping[str, Any], against: Mapping[str, Any]) -> str:
    """How many people one adversary would recognise, for its chart; empty where that was not counted."""
    if "recognised" not in against:
        return ""
    sure = level(against["recognised"]["accuracy"])
    return f"{_people(audit, against)} recognised, right about them at least {sure} of the time"


def resting_on(audits: Sequence[Mapping[str, Any]]) -> list[str]:
    """What numbers are and rest on, each said once; what holds for some audits only, with their names."""
    found: dict[str, list[str]] = {}
    for audit in audits:
        said = [f"{one['adversary']}: {one['basis']}." for one in audit["adversaries"]]
        for text in dict.fromkeys([*said, *audit["notes"]]):
            found.setdefault(text, []).append(words.clip(audit["audit"]))
    return [
        text if len(names) == len(audits) else f"{text} ({', '.join(names)})" for text, names in found.items()
    ]


def label(promised: Mapping[str, Any]) -> str:
    """The epsilon on the label, and what it protects.

    >>> label({"nominal": {"epsilon": 0.5, "unit": "event"}})
    'Promised is ε\xa0=\xa00.5 for one event'
    """
    return f"Promised is {words.promise(promised['nominal'])}"


def what_is_left(promised: Mapping[str, Any]) -> str:
    """What the numbers of a person are."""
    delta = number(promised["delta"]["1.0"])
    return f"A person gets the composition over all cells they move, here at δ of at most {delta}"


def epsilons(quantiles: Mapping[str, float | None]) -> str:
    """What epsilon is at most for half of the people, for 95% and for all; nothing is rounded down.

    >>> epsilons({"0.5": 1.2301, "0.95": 14.0, "1.0": None})
    '1.24 / 14.0 / ∞'
    """
    found = (quantiles[share] for share in SHARES)
    return " / ".join("∞" if value is None else upper(value) for value in found)


def spread(name: str, quantiles: Mapping[str, float]) -> str:
    """What a metric is at most for half of the people, for 95% and for all.

    >>> spread("accuracy", {"0.5": 0.7312, "0.95": 0.9, "1.0": 0.99999})
    '73.1% / 90.0% / >99.9%'
    """
    return " / ".join(amount(quantiles[share], share=words.term(name).is_share) for share in SHARES)


def amount(value: float, *, share: bool) -> str:
    """A number to a thousandth: it is not known better. What is not quite one is never shown as one."""
    text, most = (f"{value:.1%}", ">99.9%") if share else (f"{value:.3f}", ">0.999")
    return most if value < 1 and text in ("100.0%", "1.000") else text


def _people(audit: Mapping[str, Any], against: Mapping[str, Any]) -> str:
    n = against["recognised"]["people"]
    return f"{count(n)} ({percent(n / max(audit['people'], 1))})"


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
