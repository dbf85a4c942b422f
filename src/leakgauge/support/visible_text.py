"""Text of somebody else as a terminal or a page may show it: no character in it acts."""

import re
from collections.abc import Mapping
from typing import Any

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with control and bidirectional characters as escapes; ends of lines and tabs stay.

    >>> visible("a\\x1b[2Jb"), visible("\\u202eexe")
    ('a\\\\x1b[2Jb', '\\\\u202eexe')
    """
    return _ACTING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def visible_line(text: str) -> str:
    """The same in one line: an end of a line in a value begins no line of its own."""
    return visible(text).replace("\n", "\\n")


def visible_value(value: Any) -> Any:
    """The same for all texts in nested values; texts that are HTML already are left as they are."""
    match value:
        case str() if not hasattr(value, "__html__"):
            return visible(value)
        case Mapping():
            return {visible_value(key): visible_value(item) for key, item in value.items()}
        case list() | tuple():
            return [visible_value(item) for item in value]
    return value
