"""Names of attackers and other names that a user chose, short enough for a table or a chart."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from leakgauge.report.number_format import times
from leakgauge.verdict import Verdict

LONGEST = 64  # characters of a name that comes from a user
LONGEST_IN_CHART = 34
LONGEST_SENTENCE = 1200  # characters; a longer one was not written to be read, and is cut at a word
SEPARATOR = " · "


def clip(text: object, longest: int = LONGEST) -> str:
    """A name from a user, cut in the middle where it is very long.

    >>> clip("abcdefghij", 5)
    'ab…ij'
    """
    name = str(text)
    if len(name) <= longest:
        return name
    head = longest // 2
    return f"{name[:head]}…{name[len(name) - (longest - head - 1) :]}"


def whole_sentences(text: object, longest: int) -> str:
    """As many whole sentences as fit, and always the first: a sentence cut in the middle misleads.

    >>> whole_sentences("One is long. Two is longer. Three.", 28)
    'One is long. Two is longer.'
    >>> whole_sentences("The first is kept. Not this.", 5)
    'The first is kept.'
    """
    first, *others = re.split(r"(?<=[.!?]) (?=[^a-z])", str(text))
    if len(first) > max(longest, LONGEST_SENTENCE):
        return f"{first[: max(longest, LONGEST_SENTENCE)].rpartition(' ')[0] or clip(first, longest)} …"
    for sentence in others:
        if len(first) + 1 + len(sentence) > longest:
            break
        first = f"{first} {sentence}"
    return first


def attackers_and_settings(attackers: Collection[tuple[str, str]]) -> str:
    """How many attackers there are, and in how many audits; each attacker is an audit and a label.

    >>> attackers_and_settings([("a", "x"), ("a", "y")])
    '2 attackers'
    >>> attackers_and_settings([("a@epsilon=1", "x"), ("a@epsilon=2", "x")])
    '1 attacker in 2 settings'
    >>> attackers_and_settings([("a", "x"), ("b", "x"), ("b", "y")])
    '3 attackers in 2 audits'
    """
    audits = {audit for audit, _ in attackers}
    labels = {label for _, label in attackers}
    if len(audits) == 1:
        return times(len(attackers), "attacker")
    one_sweep = len({audit.partition("@")[0] for audit in audits}) == 1
    same_everywhere = len(audits) * len(labels) == len(attackers)
    n = len(labels) if same_everywhere else len(attackers)
    return f"{times(n, 'attacker')} in {times(len(audits), 'setting' if one_sweep else 'audit')}"


def adversary_names(shown: Sequence[Verdict], among: Sequence[Verdict]) -> list[str]:
    """A name for each attacker that is ``shown``: as short as possible, and unique ``among`` all of them."""
    several_audits = len({verdict.audit for verdict in among}) > 1
    several_labels = len({verdict.label for verdict in among}) > 1
    one_base = len({verdict.audit.partition("@")[0] for verdict in among}) == 1

    def name(verdict: Verdict) -> str:
        point = verdict.audit.partition("@")[2]
        audit = [point if point and one_base else verdict.audit] if several_audits else []
        label = [verdict.label] if several_labels or not several_audits else []
        return SEPARATOR.join(clip(part, LONGEST_IN_CHART) for part in [*audit, *label])

    called = [name(verdict) for verdict in among]
    often = Counter(called)
    unique = {
        id(verdict): text if often[text] == 1 else f"{text}{SEPARATOR}{place}"
        for place, (verdict, text) in enumerate(zip(among, called, strict=True), start=1)
    }
    return [unique[id(verdict)] for verdict in shown]
