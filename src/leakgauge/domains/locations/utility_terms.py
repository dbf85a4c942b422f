"""What the numbers about the utility of published counts mean, for reports."""

from leakgauge.core.domain import Term

UTILITY_TERMS = {
    "mean_absolute_error": Term(
        title="Mean error of a count",
        meaning="mean of |published - true count| over all cells; true counts are those before any caps",
        sentence="a count is off by {value} on average",
        lower_is_better=True,
    ),
    "relative_error": Term(
        title="Relative error",
        meaning="mean of |published - true count| / true count over the cells with visits",
        is_share=True,
        sentence="by {value} of it in cells with visits",
        lower_is_better=True,
    ),
    "visits_published": Term(
        title="Visits published",
        meaning="share of the visits that are in cells which are not suppressed",
        is_share=True,
        sentence="{value} of the visits are in published cells",
    ),
    "cells_suppressed": Term(
        title="Cells suppressed",
        meaning="share of the cells with visits that are published as 0 by suppression",
        is_share=True,
        sentence="{value} of the cells with visits are suppressed",
        lower_is_better=True,
    ),
    "top_places": Term(
        title="Top places found",
        meaning="share of the 20 most visited places that are also the top 20 of the release; with fewer "
        "than 40 places, of the more visited half",
        is_share=True,
        sentence="{value} of the top places (20, or half of fewer than 40) are found",
    ),
    "space_distance": Term(
        title="Distance of places",
        meaning="total variation distance between the places' shares of visits in the release and in the "
        "data: 0 if they are the same, 1 if they have nothing in common",
        sentence="total variation distance of the shares of places {value}",
        lower_is_better=True,
    ),
    "time_distance": Term(
        title="Distance of times",
        meaning="total variation distance between the epochs' shares of visits in the release and in the "
        "data",
        sentence="and of those of epochs {value}",
        lower_is_better=True,
    ),
}
