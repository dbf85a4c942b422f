"""Numbers that pages of the documentation state, and those of a verdict to compare them with."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def page_words(page):
    """The text of a page with single spaces."""
    return " ".join((DOCS / page).read_text().split())


def blocks(page, language):
    """The blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def rows(page, header):
    """The cells of the table of a page whose header begins so."""
    lines = [line.strip() for line in (DOCS / page).read_text().splitlines()]
    (start,) = (place for place, line in enumerate(lines) if line.startswith(header))
    table = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return table
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def number(cell):
    """The first number of a cell."""
    return float(re.search(r"\d*[.,\d]*\d", cell)[0].replace(",", ""))


def percent(cell):
    return number(cell) / 100


def stated_numbers(text):
    """Numbers of a text with a percent sign or a point, as fractions."""
    found = re.findall(r"(\d*\.?\d+)(%?)", text)
    return [float(one) / (100 if share else 1) for one, share in found if share or "." in one]


def measured_numbers(verdict, where, n_numbers):
    """A metric with its interval, or what is at places in a verdict."""
    if where in verdict["metrics"]:
        return [verdict["metrics"][where][part] for part in ("value", "low", "high")[:n_numbers]]
    found = []
    for place in where.split():
        value = verdict
        for key in place.split("."):
            value = value[key]
        found.append(value)
    return found
