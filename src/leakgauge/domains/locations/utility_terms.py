"""What the numbers about the utility of published counts mean, for reports."""

from leakgauge.core.domain import Term


def _top(whole: str, largest: str, few: str) -> Term:
    """The largest places, rows or cells of the data among those of the release."""
    return Term(
        title=f"Top {whole} found",
        meaning=f"share of the 20 {largest} {whole} that are also the top 20 of the release; with fewer "
        f"than 40 {whole}, of the {few} half",
        is_share=True,
        sentence=f"{{value}} of the top {whole} (20, or half of fewer than 40) are found",
    )


def _distance(whole: str, counted: str, sentence: str) -> Term:
    """How far the shares of places, times, rows, columns or cells are from those of the data."""
    return Term(
        title=f"{whole.capitalize()} differ by",
        meaning=f"total variation distance between the {whole}' shares of {counted} in the release and in "
        "the data: 0 if they are the same, 1 if they have nothing in common",
        sentence=sentence,
        lower_is_better=True,
    )


_FIRST_DISTANCE = "total variation distance of the shares of {whole} {{value}}"

# visits have places and times; other tables have cells, or rows and columns
UTILITY_TERMS = {
    "mean_absolute_error": Term(
        title="Mean error of a count",
        meaning="mean of |published - true count| over all cells; true counts are those before any caps",
        sentence="a count is off by {value} on average",
        lower_is_better=True,
    ),
    "relative_error": Term(
        title="Relative error",
        meaning="mean of |published - true count| / true count over the cells with a true count above 0",
        is_share=True,
        sentence="by {value} of it in cells with a count above 0",
        lower_is_better=True,
    ),
    "typical_error": Term(
        title="Typical error of a published count",
        meaning="mean of |published - true count| over the cells that are not suppressed",
        lower_is_better=True,
    ),
    "largest_useful_error": Term(
        title="Largest useful error",
        meaning="half of the mean true count of the cells that are not suppressed; where nothing is "
        "suppressed, the mean count of all cells",
    ),
    "visits_published": Term(
        title="Visits published",
        meaning="share of the visits that are in cells which are not suppressed",
        is_share=True,
        sentence="{value} of the visits are in published cells",
    ),
    "counts_published": Term(
        title="Counts published",
        meaning="share of the sum of all true counts that is in cells which are not suppressed",
        is_share=True,
        sentence="{value} of the sum of all counts is in published cells",
    ),
    "cells_suppressed": Term(
        title="Cells suppressed",
        meaning="share of the cells with a true count above 0 that are published as 0 by suppression",
        is_share=True,
        sentence="{value} of the cells with a count above 0 are suppressed",
        lower_is_better=True,
    ),
    "top_places": _top("places", "most visited", "more visited"),
    "top_cells": _top("cells", "largest", "larger"),
    "top_rows": _top("rows", "largest", "larger"),
    "space_distance": _distance("places", "visits", _FIRST_DISTANCE.format(whole="places")),
    "cell_distance": _distance("cells", "the sum of counts", _FIRST_DISTANCE.format(whole="cells")),
    "row_distance": _distance("rows", "the sum of counts", _FIRST_DISTANCE.format(whole="rows")),
    "time_distance": _distance("epochs", "visits", "and of those of epochs {value}"),
    "column_distance": _distance("columns", "the sum of counts", "and of those of columns {value}"),
}
