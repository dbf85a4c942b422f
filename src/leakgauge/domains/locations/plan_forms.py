"""The forms of the tables of a plan about counts."""

from typing import Any, Literal

from leakgauge.domains.locations import plan_tables
from leakgauge.domains.locations.data.cell_files.cell_plan_table import CellDataTable
from leakgauge.domains.locations.data.data_loader import SYNTHETIC
from leakgauge.domains.locations.data.synthetic_city import SyntheticCity
from leakgauge.domains.locations.data.synthetic_genotypes import SYNTHETIC_GENOTYPES, SyntheticGenotypes
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.support.plan_forms import PlanForms, TableForm

_READ_BY_HAND: dict[str, tuple[Any, str]] = {
    "friends": (str, "A CSV file with the columns target and friend."),
    "releases": (
        int | tuple[tuple[Any, Any], ...],
        "Several releases of the same people: a number of equal parts, or a list of windows.",
    ),
}
_UNITS = Literal["event", "user-day", "user"]
_UNIT: dict[str, tuple[Any, str]] = {
    "unit": (_UNITS, "What epsilon protects: one visit, a day of a person, or a person.")
}
_LINES = {
    "CellColumnsTable.cell": "The column that is counted, or several columns together.",
    "LocationsDataTable.cell": "The side of a grid cell in metres, instead of a grid.",
    "LocationsDataTable.min_visits": "People with fewer visits are left out.",
    "LocationsKnowledgeTable.places": 'How many places of the target are known, or "all".',
    "bad_share": "The largest share of invalid rows that is accepted.",
    "box": 'The map: [south, west, north, east], or "p0.5" to leave out the outermost 0.5 % of points.',
    "cells": "Which cells are compared.",
    "choose": "Which people become targets.",
    "clamp": "Negative counts become 0.",
    "clock": "Whether times without a zone are local or UTC.",
    "columns": "What the columns of the file are called.",
    "date": "The column of dates, where the column of times holds only the time of day.",
    "decimal": "The mark before the decimals of coordinates in a CSV file.",
    "encoding": "The encoding of a CSV file.",
    "epoch": 'The period of one count, such as "1h" or "1d".',
    "epochs": "How many periods are generated.",
    "fit": "Whether the attack estimates how much groups differ.",
    "fold": "Counts are per hour of the week, over all weeks.",
    "format": "A published data set in its original format.",
    "frequencies": "The smallest and the largest allele frequency.",
    "grid": "Rows and columns of the map.",
    "header": "The column names of a CSV file without a header line.",
    "lat": "The column of latitudes.",
    "layout": "Whether places lie on a grid.",
    "lon": "The column of longitudes.",
    "min_visits": "Only people with so many visits become targets.",
    "observations": "How many visits of the target are known.",
    "origin": "The date from which numbers in the column of times count.",
    "per_day": "The most visits of a person that are counted in a day.",
    "per_epoch": "The most visits of a person that are counted in a period.",
    "per_user": "The most visits of a person that are counted.",
    "place": "The column of places.",
    "places": "A file with the coordinates of places.",
    "radius": "How far from home people go, in metres.",
    "release": 'Your pipeline, as "module:function": from counts and a generator to counts.',
    "round": "Counts are rounded to whole numbers.",
    "sampling": "Whether shadows come in pairs, with and without the target.",
    "sites": "How many places are generated.",
    "snps": "How many SNPs are generated.",
    "spread": "How visits to known places are spread over time.",
    "suppress": "Counts up to this are withheld.",
    "theta": "Which share of the others in the group is known.",
    "time": "The column of times.",
    "time_format": 'How dates are written, such as "%d.%m.%Y %H:%M".',
    "time_unit": "The unit of numbers in the column of times.",
    "timezone": 'The time zone in which days and hours are counted, such as "Europe/Rome".',
    "top": "Only so many places or cells are counted: those with most people.",
    "trace": "Which share of the target's visits is known.",
    "user": "The column of people.",
    "users": "How many people are generated.",
    "value": "The column of what a person adds to a cell: 0, 1 or 2.",
    "whole": "Whether your pipeline publishes whole numbers.",
    "window": "The first day, and the day after the last.",
}


def plan_forms() -> PlanForms:
    """Return the forms of all tables."""
    steps = plan_tables.PostProcessingTable
    noise = tuple(
        TableForm(
            kinds=(mechanism_class(name), steps),
            chosen_by={"name": (name,)},
            needs_choice=True,
            extra=_UNIT,
            omitted=("sensitivity", "relation"),
        )
        for name in mechanism_names(adds_noise)
    )
    own = plan_tables.LocationsUserMechanismTable
    return PlanForms(
        lines=_LINES,
        data=(
            TableForm(kinds=(SyntheticCity,), chosen_by={"source": (SYNTHETIC,)}, extra=_READ_BY_HAND),
            TableForm(
                kinds=(SyntheticGenotypes,),
                chosen_by={"source": (SYNTHETIC_GENOTYPES,)},
                needs_choice=True,
                extra=_READ_BY_HAND,
            ),
            TableForm(kinds=(plan_tables.LocationsDataTable,), extra=_READ_BY_HAND),
            TableForm(kinds=(CellDataTable,), extra=_READ_BY_HAND),
        ),
        challenger=(TableForm(kinds=(plan_tables.LocationsChallengerTable,)),),
        mechanism=(
            *noise,
            TableForm(kinds=(steps,), chosen_by={"name": (plan_tables.RAW,)}, needs_choice=True),
            TableForm(kinds=(own,), chosen_by={"name": (plan_tables.OWN,)}, needs_choice=True),
        ),
        knowledge={
            name: TableForm(kinds=(plan_tables.LocationsKnowledgeTable,), only=keys)
            for name, keys in plan_tables.ALLOWED_KEYS.items()
        },
    )
