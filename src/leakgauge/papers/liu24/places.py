"""Where the games are played: Milan where its file is given, else a city of its shape."""

from leakgauge.papers import data_sets
from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.paper import Scope

GRID = (12, 8)
PEOPLE = 15_793  # a target, and 7,896 + 7,896 others
LAST_800_HOURS = ("2013-11-28T16:00:00", "2014-01-01")
CITY = DataSet(
    name="city",
    words="a synthetic city",
    table=f'{{ source = "synthetic", users = {PEOPLE}, sites = {GRID[0] * GRID[1]}, epochs = 800, '
    "visits = 10, skew = 1.5 }",
)


def main_place(scope: Scope) -> DataSet:
    """Milan, if there is its file in the folder of the data sets."""
    return data_sets.milan(scope, GRID, LAST_800_HOURS) or CITY


def substitute_note(scope: Scope) -> str:
    """Say what the games were played on, in short."""
    if main_place(scope) is not CITY:
        return "Played on Social Pulse Milano, its last 800 hours, on a grid of 12 x 8 places."
    return "Played on a synthetic city in place of Milan, whose tweets were not given (see figure 13)."


def place_note(scope: Scope) -> str:
    """Say what the games were played on, and why."""
    if main_place(scope) is not CITY:
        return substitute_note(scope)
    return (
        "The tweets of Milan were not given (--data with social-pulse-milano.geojson in it), so the games "
        "are played on a substitute: a synthetic city of the same shape, 15,793 people, 96 places, 800 "
        "hours. How often people are seen there is our choice, 10 visits on average and many more for a "
        "few, since the paper does not say; what an auxiliary adversary reaches depends on it (see the "
        "crossover)."
    )
