"""The forms that a table of a plan may have, for the schema of plans and the list of their keys.

A form names the dataclasses that check a table when it is read, so that neither can differ from the reader.
"""

import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from inspect import cleandoc, getdoc
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

# Keys that mean the same in every table, where a dataclass does not describe them.
COMMON_KEYS = {
    "alpha": "The odds with which bits that are 1 are kept.",
    "bound": "Values are clipped to -bound .. bound.",
    "calibrate": "Whether the noise follows the published formula, or the epsilon that it achieves is exact.",
    "delta": "The delta that is promised.",
    "epsilon": "The epsilon that is promised.",
    "label": "The column of the true class.",
    "law": "The noise distribution as your own function: module:function.",
    "n": "How many targets there are.",
    "name": "Which of them.",
    "names": "The targets by name, instead of a number of them.",
    "noise": "Which noise the scores get.",
    "relation": "What the two worlds differ by: a target is added or removed, or replaced.",
    "saturate": "Values beyond the bound are cut off without a warning.",
    "scale": "The scale of the noise; epsilon is then only what is claimed.",
    "sensitivity": "The distance that one protected unit can move the values.",
    "sigma": "The standard deviation of the noise; epsilon is then only what is claimed.",
    "source": "The file; a relative path starts in the folder of the plan.",
    "targets": "Whose membership is in question: a number of them, or a table.",
    "threshold": "What answers are compared with.",
    "unit": "What is protected: an event, a day of a person, a person, a record or a client.",
    "variant": "Which published variant is used.",
}
NO_LINES: Mapping[str, str] = {}
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Examples?):$")
_ENTRY = re.compile(r"^    (\w+): (.*)$")


@dataclass(frozen=True, kw_only=True)
class TableForm:
    """One form of a table: the dataclasses whose keys it takes, and what sets it apart from other forms.

    ``chosen_by`` gives the values of a key that choose this form; with ``needs_choice`` the key must be
    there. ``extra`` are keys that are read by hand: a type and one line each. Keys that are ``omitted``
    follow from other tables.
    """

    kinds: tuple[type, ...] = ()
    chosen_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs_choice: bool = False
    extra: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    omitted: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None  # of the keys, where not all are accepted

    @property
    def title(self) -> str:
        """What chooses this form, for people."""
        return ", ".join(" or ".join(values) for values in self.chosen_by.values())


@dataclass(frozen=True, kw_only=True)
class PlanForms:
    """The forms of the tables of a domain; those of ``knowledge`` by its name.

    ``lines`` describes keys about which the dataclasses say nothing, by the name of the key; where the same
    key means different things, by the names of dataclass and key: "QueriesServiceTable.url".
    """

    data: tuple[TableForm, ...] = ()
    challenger: tuple[TableForm, ...] = ()
    mechanism: tuple[TableForm, ...] = ()
    knowledge: Mapping[str, TableForm] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class KeyDescription:
    """One key: its type hint, its default (``MISSING`` if it has none) and a line about it."""

    name: str
    hint: Any
    default: Any
    about: str


def form_keys(form: TableForm, lines: Mapping[str, str] = NO_LINES) -> dict[str, KeyDescription]:
    """Return the keys that a form takes, by name; ``lines`` are those of ``PlanForms``."""
    found = {key.name: key for kind in form.kinds for key in dataclass_keys(kind, lines)}
    for name, (hint, about) in form.extra.items():
        found[name] = KeyDescription(name=name, hint=hint, default=None, about=about)
    for name, values in form.chosen_by.items():
        if name not in found:
            default = MISSING if form.needs_choice else values[0]
            about = "Chooses this form of the table."
            found[name] = KeyDescription(name=name, hint=Literal[values], default=default, about=about)
    return {
        name: key
        for name, key in found.items()
        if name not in form.omitted and (form.only is None or name in form.only or name in form.chosen_by)
    }


def dataclass_keys(kind: type, lines: Mapping[str, str] = NO_LINES) -> Iterator[KeyDescription]:
    """Describe the fields of a dataclass that a table may set; none of a class that is no dataclass."""
    if not is_dataclass(kind):
        return
    hints, own = typing.get_type_hints(kind), field_lines(kind)
    for entry in fields(kind):
        if entry.init:
            name = entry.name
            default = entry.default if entry.default_factory is MISSING else entry.default_factory()
            stated = next(
                (
                    lines[f"{base.__name__}.{name}"]
                    for base in kind.__mro__
                    if f"{base.__name__}.{name}" in lines
                ),
                "",
            )
            about = stated or own.get(name) or lines.get(name) or COMMON_KEYS.get(name, "")
            yield KeyDescription(name=name, hint=hints[name], default=default, about=about)


@cache
def field_lines(kind: type) -> dict[str, str]:
    """Return what the docstrings of a dataclass and of those it extends say about each field.

    A section ``Attributes:`` is used first, then the first sentence that has the name between two
    backquotes, then the comment behind the field.

    >>> class Noise:
    ...     '''Noise on counts.
    ...
    ...     The ``scale`` is in people.
    ...     '''
    >>> field_lines(Noise)["scale"]
    'The scale is in people.'
    """
    lines: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        text = cleandoc(base.__doc__ or "") if "__doc__" in vars(base) else ""
        if is_dataclass(base) and text.startswith(f"{base.__name__}("):  # generated
            continue
        lines |= {**_comment_lines(base), **_sentence_lines(text), **_attribute_lines(text)}
    return lines


def _comment_lines(kind: type) -> dict[str, str]:
    """The comments behind fields, as sentences."""
    body = re.search(
        rf"^class {kind.__name__}\b.*?(?=^\S|\Z)", _source(kind.__module__), re.MULTILINE | re.DOTALL
    )
    found = re.findall(r"^    (\w+): [^#\n]*?  # (.+)$", body[0] if body else "", re.MULTILINE)
    return {name: f"{comment[0].upper()}{comment[1:]}." for name, comment in found if len(comment) > 8}


@cache
def _source(module: str) -> str:
    """The text of a module; empty where it has no file."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).read_text(encoding="utf-8") if file and Path(file).is_file() else ""


def _attribute_lines(text: str) -> dict[str, str]:
    lines: dict[str, str] = {}
    section = current = ""
    for line in text.splitlines():
        if match := _SECTION.match(line):
            section = match[1]
        elif section == "Attributes" and (match := _ENTRY.match(line)):
            current = match[1]
            lines[current] = match[2]
        elif section == "Attributes" and current and line.startswith("        "):
            lines[current] += f" {line.strip()}"
        elif line and not line.startswith(" "):
            section = ""
    return {name: _plain(about) for name, about in lines.items()}


def _sentence_lines(text: str) -> dict[str, str]:
    prose = " ".join(line for line in text.partition("\n>>>")[0].splitlines())
    found: dict[str, str] = {}
    for sentence in re.split(r"(?<=[.:]) +(?=[A-Z`])|\s{2,}", prose):
        for name in re.findall(r"``(\w+)``", sentence):
            found.setdefault(name, _plain(sentence.strip()))
    return {name: line[:1].upper() + line[1:] for name, line in found.items()}


def _plain(text: str) -> str:
    return text.replace("``", "").replace("`", "")


def type_text(hint: Any) -> str:
    """A type hint in words, as a plan's author would say it.

    >>> type_text(float | None), type_text(tuple[str, ...]), type_text(Literal["a", "b"])
    ('number', 'list of texts', '"a" or "b"')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(type_text(one) for one in arguments if one is not type(None)))
    if origin is Literal:
        return " or ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in arguments)
    if origin is tuple or hint is tuple:
        return _list_text(arguments)
    if origin in (dict, Mapping) or hint is dict or (isinstance(hint, type) and is_dataclass(hint)):
        return "table"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " or ".join(f'"{member.value}"' for member in hint)
    names = {float: "number", int: "whole number", bool: "true or false", str: "text"}
    return names.get(hint, "any value")


def _list_text(arguments: Sequence[Any]) -> str:
    if not arguments or arguments[-1] is not Ellipsis:
        return f"list of {len(arguments)} values" if arguments else "list"
    each = type_text(arguments[0])
    return f"list of {each if ' ' in each else each + 's'}"


def default_text(default: Any) -> str:
    """A default as a plan writes it; empty where there is none.

    >>> default_text(0.5), default_text(None), default_text(MISSING)
    ('0.5', '', 'required')
    """
    if default is MISSING:
        return "required"
    if default is None or default in ((), {}):
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, Enum):
        return f'"{default.value}"'
    if is_dataclass(default):
        return ""
    return (
        f'"{default}"'
        if isinstance(default, str)
        else str(list(default) if isinstance(default, tuple) else default)
    )


def first_line(kind: type) -> str:
    """The first line of a docstring."""
    return (getdoc(kind) or "").partition("\n")[0]
