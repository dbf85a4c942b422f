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


def print_line(text: object = "", file: TextIO | None = None) -> None:
    """Print one line, whatever characters a value in it has: all output of commands but tables goes here."""
    print(visible_line(str(text)), file=file, flush=file is not None)


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
