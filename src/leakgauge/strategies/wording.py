"""What a learned event looks at, in words a reader of the report can act on."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from leakgauge.strategies.clues import Clue
from leakgauge.strategies.outputs import Path

_FEW = 2  # features that are named one by one
_PLACES = ("place", "places", "first", "second")


def describe(candidate: Any, paths: tuple[Path, ...]) -> str:
    """Say in one phrase what a way to score looks at.

    The words are those of the class that reads it; places are named as in the output.
    """
    features = list(dict.fromkeys(_features(candidate)))
    phrases = [_phrase(feature, paths) for feature in features[:_FEW]]
    more = f", and {len(features) - _FEW} more" if len(features) > _FEW else ""
    together = f"{_first_line(candidate)}: " if len(features) != 1 else ""
    return together + "; ".join(phrases) + more if features else _first_line(candidate)


def _features(candidate: Any) -> Iterator[Any]:
    """Find the marks and measures inside a candidate."""
    for field in fields(candidate):
        value = getattr(candidate, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Clue):
                yield item.feature
            elif field.name in ("mark", "measures"):
                yield item


def _phrase(feature: Any, paths: tuple[Path, ...]) -> str:
    places: list[int] = []
    for name in _PLACES:
        value = getattr(feature, name, ())
        places += value if isinstance(value, tuple) else [value]
    where = ", ".join(_name(paths[place]) for place in places[:3]) + (", ..." if len(places) > 3 else "")
    return f"{_first_line(feature)} ({where})" if where else _first_line(feature)


def _name(path: Path) -> str:
    """Name a place as Python would reach it.

    >>> _name(("by ward", 1, 0))
    'output["by ward"][1][0]'
    """
    return "output" + "".join(f"[{step}]" if isinstance(step, int) else f'["{step}"]' for step in path)


def _first_line(thing: Any) -> str:
    line = (type(thing).__doc__ or type(thing).__name__).strip().split("\n")[0].rstrip(".")
    return line[0].lower() + line[1:]
