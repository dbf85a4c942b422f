"""Text for consoles that cannot show every character, such as an ASCII one; not a command."""

import codecs
import io
import sys
from typing import TextIO

from leakgauge.support.visible_text import visible_line

_ERROR_HANDLER = "leakgauge.spell_out"
_SPELLED_OUT = {
    "α": "alpha",
    "β": "beta",
    "δ": "delta",
    "ε": "epsilon",
    "π": "pi",
    "σ": "sigma",
    "∞": "infinity",
    "√": "sqrt",
    "≤": "<=",
    "≥": ">=",
    "±": "+-",
    "×": "x",
    "·": "*",
    "′": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "–": "-",
    "…": "...",
    "─": "-",
    "━": "-",
    "╸": "-",
    "╺": "-",
    "│": "|",
}
_EXPONENTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def print_any_text() -> None:
    """Let standard output and standard error take every text, whatever their encoding.

    A character that the encoding does not have is spelled out (ε as epsilon) or escaped as Python does it,
    so that no verdict is lost to it.
    """
    codecs.register_error(_ERROR_HANDLER, _spell_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERROR_HANDLER)


class PrintedLines(io.TextIOBase):
    """The standard output of a command, where what is printed at once is one line and no character acts."""

    def __init__(self, stream: TextIO):
        self.stream = stream  # for tables, whose cells are checked before

    def write(self, text: str) -> int:
        """Write a text with line ends as escapes, or the ends of lines that ``print`` adds."""
        return self.stream.write(visible_line(text) if text.strip("\n") else text)

    def flush(self) -> None:
        """Show at once what was written."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Whether somebody is looking."""
        return self.stream.isatty()


def _spell_out(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace the characters that could not be encoded.

    >>> codecs.register_error("example", _spell_out)
    >>> "ε ≤ 10⁻⁵ for Łódź".encode("ascii", "example")
    b'epsilon <= 10^-5 for \\\\u0141\\\\xf3d\\\\u017a'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, previous = "", error.object[error.start - 1 : error.start]
    for character in error.object[error.start : error.end]:
        digit = character.translate(_EXPONENTS)
        if digit != character:
            text += digit if previous.translate(_EXPONENTS) != previous else f"^{digit}"
        else:
            escaped = character.encode("ascii", "backslashreplace").decode("ascii")
            text += _SPELLED_OUT.get(character, escaped)
        previous = character
    return text, error.end
