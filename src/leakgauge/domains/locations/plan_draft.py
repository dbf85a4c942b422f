"""Draft a plan for counts of people: from a file of visits, or from a table of people and cells."""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.epochs import DAY, parse_epoch_length
from leakgauge.domains.locations.data.visit_files.time_zones import (
    city_distance,
    find_time_zone,
    near_time_zones,
)
from leakgauge.domains.locations.file_recognition import (
    PLAIN_AXES,
    cell_columns,
    clock_columns,
    other_places,
    recognise_cells,
    recognise_visits,
    unnamed_points,
    visit_columns,
)
from leakgauge.support.file_description import ColumnDescription, FileDescription, name_parts
from leakgauge.support.plan_draft import (
    TEXT_COMMENTS,
    Answers,
    ColumnRole,
    DraftContext,
    DraftedPlan,
    DraftKind,
    Question,
    column_question,
    epsilon_question,
    limit_question,
    limits_text,
    optional,
    plan_start,
    range_text,
    read_column,
    read_whole,
    table_lines,
)

_FAR_KM, _NEAR_KM = 300.0, 100.0  # from a large city
_EARLIEST, _LATEST = 631_152_000, 4_102_444_800  # 1990 and 2100, in seconds since 1970
_UNIT_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, None: None}
_LONGEST_DAYS = 28  # of a first plan; a longer file is cut to this window
_FEWEST_ROUNDS = 400


def _clock_question(file: FileDescription) -> Question:
    """The column of times of day; asked where some column looks like one that cannot be read."""

    def read(answer: str) -> str:
        column = file.column(read_column(file)(answer))
        if column.kind != "clock" and column.clock_format is None:
            raise BadInput(
                f"column {answer!r} holds no times of day as 14:05, 2:05 PM, 14.05, 1405 or hours from 0 to "
                "23; write them so"
            )
        return answer

    return Question(
        key="clock",
        text="The column of times holds dates only, and some other column may hold times of day, in a form "
        'that is not known. Which column says at which time of day it was? "none" counts whole days; --time '
        "names another column of times",
        derive=lambda answers: clock_columns(file, answers)[0],
        read=optional(read),
        asked=lambda answers: bool(clock_columns(file, answers)[1]),
    )


def _default_epoch(file: FileDescription | None, answers: Answers) -> str:
    """An hour, or a day where there are dates only."""
    dates = file is not None and file.column(answers["time"]).whole_days and answers.get("clock") is None
    return "1d" if dates else "1h"


def _scale(file: FileDescription, columns: Mapping[str, Any]) -> float:
    """The factor that turns coordinates into degrees, where they are whole numbers of a part of a degree."""
    ends = [file.column(columns[key]) for key in ("lat", "lon")]
    scale = 1.0
    for column, most in zip(ends, (90.0, 180.0)):
        largest = max(abs(column.low or 0.0), abs(column.high or 0.0))
        if column.kind == "whole" and largest > most:
            scale = min(scale, 10.0 ** -math.ceil(math.log10(largest / most)))
    return scale


def _middle(file: FileDescription, columns: Mapping[str, Any]) -> tuple[float, float]:
    """Latitude and longitude of the middle of the map: a few points may lie far outside."""
    scale, (lat, lon) = _scale(file, columns), (file.column(columns[key]) for key in ("lat", "lon"))
    return scale * (lat.middle or 0.0), scale * (lon.middle or 0.0)


def _default_zone(file: FileDescription | None, answers: Answers) -> str:
    """The zone of the nearest city; refused where it is far away, and near if the axes are interchanged."""
    if file is not None and answers.get("lat") is not None and answers.get("lon") is not None:
        lat, lon = _middle(file, answers)
        far = city_distance(lat, lon) > _FAR_KM
        if far and abs(lon) <= 90 and city_distance(lon, lat) < _NEAR_KM:
            exchanged = shlex.join(["--lat", answers["lon"], "--lon", answers["lat"]])
            raise BadInput(
                f"{file.path}: by {answers['lat']} (latitude) and {answers['lon']} (longitude) the places "
                f"are more than {_FAR_KM:.0f} km from every large city, as in the open sea, and exchanged "
                f"they are near one; write {exchanged}, or, if they are right, name their time zone "
                "(--timezone)"
            )
    return next(iter(_guessed_zones(file, answers)), "UTC")


def _guessed_zones(file: FileDescription | None, columns: Mapping[str, Any]) -> tuple[str, ...]:
    """The time zones that the middle of the map may be in, where there are coordinates."""
    if file is None or columns.get("lat") is None or columns.get("lon") is None:
        return ()
    lat, lon = _middle(file, columns)
    times = None if columns.get("time") is None else _time_range(file.column(columns["time"]))
    known = times is not None and _EARLIEST <= times[0] <= times[1] <= _LATEST
    return near_time_zones(lat, lon, times if known else None)


def _read_grid(answer: str) -> list[int]:
    parts = answer.lower().replace("×", "x").split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() and int(part) >= 1 for part in parts):
        raise BadInput(f'must be rows x columns, such as "10x10", got {answer!r}')
    return [int(part) for part in parts]


def _read_epoch(answer: str) -> str:
    try:
        parse_epoch_length(answer)
    except BadInput as error:
        raise BadInput(str(error).removeprefix("data.epoch: ").removeprefix("data.epoch = ")) from None
    return answer


def _has_noise(answers: Answers) -> bool:
    return answers.get("epsilon") is not None


def _promise_questions(units: dict[str, str], what: str) -> list[Question]:
    """The questions about noise, and about what is withheld where there is none."""
    return [
        epsilon_question(
            'Which epsilon does the Laplace noise of the counts have? "none" means that true counts are '
            "published"
        ),
        Question(
            key="unit",
            text="What does this epsilon protect",
            default="event",
            choices=units,
            asked=_has_noise,
            decides="mechanism.unit",
        ),
        Question(
            key="cap",
            text=f"At most how many {what} are counted",
            default="10",
            read=read_whole(1),
            asked=lambda answers: _has_noise(answers) and answers.get("unit") != "event",
            decides="challenger.per_day",
        ),
        Question(
            key="suppress",
            text="Which small counts are withheld: those of at most how many people? 0 withholds none",
            default="0",
            read=read_whole(0),
            asked=lambda answers: not _has_noise(answers),
            decides="mechanism.suppress",
        ),
        limit_question("a person is in these counts"),
    ]


def _visit_questions(file: FileDescription | None) -> Sequence[Question]:
    columns = visit_columns(file) if file is not None else {}
    names = {name_parts(columns[key])[0] for key in ("lat", "lon") if key in columns}
    plain = not names.isdisjoint(PLAIN_AXES)
    located = "lat" in columns
    by_points = located or ("place" not in columns and file is not None and unnamed_points(file))
    units = {
        "event": "one visit of a person",
        "user-day": "all visits of a person in a day",
        "user": "all visits of a person",
    }
    return [
        column_question(file, "person", "Which column says who it was", columns.get("user")),
        column_question(file, "time", "Which column says when it was", columns.get("time")),
        *([] if file is None else [_date_question(file)]),
        *(
            [
                column_question(file, "lat", "Which column is the latitude", columns.get("lat"), asked=plain),
                _longitude_question(file, columns),
            ]
            if by_points
            else [_place_question(file, "place", "Which column says where it was", columns.get("place"))]
        ),
        Question(
            key="timezone",
            text='In which time zone are the places, such as "Europe/Rome"',
            derive=lambda answers: _default_zone(file, answers),
            read=lambda answer: find_time_zone(answer).key,
            asked=lambda answers: len(_guessed_zones(file, answers)) != 1,
        ),
        Question(
            key="grid",
            text="Into how many rows and columns is the map divided",
            default="10x10",
            read=_read_grid,
            asked=lambda _: by_points,
            decides="data.grid",
        ),
        *([] if file is None else [_clock_question(file)]),
        Question(
            key="epoch",
            text='How long is the period of one count, such as "1h" or "1d"',
            derive=lambda answers: _default_epoch(file, answers),
            read=_read_epoch,
            decides="data.epoch",
        ),
        *_promise_questions(units, "visits of one person (in a day, if it protects a day)"),
    ]


def _longitude_question(file: FileDescription | None, columns: Mapping[str, str]) -> Question:
    """The column of longitudes: the other one, where the user takes the guessed one for the latitude."""
    lat, lon = columns.get("lat"), columns.get("lon")
    return Question(
        key="lon",
        text="Which column is the longitude",
        derive=lambda answers: lat if answers.get("lat") == lon else lon,
        read=read_column(file),
        asked=lambda _: lon is None,
    )


_ORDERS = {"day-first": "31/05/2024", "month-first": "05/31/2024"}


def _order(form: str) -> str:
    return "month-first" if form.startswith("%m") else "day-first"


def _date_question(file: FileDescription) -> Question:
    """Whether the day or the month comes first, where all dates can be read both ways."""

    def orders(answers: Answers) -> list[str]:
        return sorted({_order(form) for form in file.column(answers["time"]).time_formats}) or ["day-first"]

    return Question(
        key="dates",
        text="All dates of the file can be read in two ways. Which comes first, the day or the month",
        derive=lambda answers: None if len(orders(answers)) > 1 else orders(answers)[0],
        choices=_ORDERS,
        asked=lambda answers: len(orders(answers)) > 1,
    )


def _draft_visits(context: DraftContext) -> DraftedPlan:
    file = context.file
    assert file is not None
    columns = _chosen_columns(context, file)
    data, notes = _visit_data(context, file, columns)
    comments = {
        **TEXT_COMMENTS,
        "source": "the visits; a relative path starts in this folder",
        "columns": "what the columns of the file are called",
        "time_format": "how times are written",
        "timezone": "in which days and hours are counted",
        "time_unit": "of the numbers in the column of times",
        "scale": "coordinates are whole numbers of this part of a degree",
        "grid": "rows and columns of the map",
        "box": "the map covers all but the outermost 0.5 % of points on each side",
        "top": "the busiest places",
        "epoch": "each count is for a period of this length",
        "window": "part of the file, so that a first answer comes soon; remove it to audit the whole file",
    }
    text = _plan_text(context, data, comments, "Counts of people per place and period")
    meanings = {
        "user": ("people", "person"),
        "date": ("dates", "time"),
        "time": ("times of day" if "date" in columns else "times", "clock" if "date" in columns else "time"),
        "lat": ("latitude", "lat"),
        "lon": ("longitude", "lon"),
        "place": ("places", "place"),
    }
    roles = []
    for key, (meaning, flag) in meanings.items():
        if key in columns:
            column = file.column(columns[key])
            seconds = _UNIT_SECONDS[_time_unit(column)] if key == "time" else None
            between = "" if key in ("user", "place") else range_text(column, seconds)
            roles.append(ColumnRole(meaning, (column.name,), flag, between))
    return DraftedPlan(text=text, notes=tuple(notes), exposes=True, roles=tuple(roles))


def _chosen_columns(context: DraftContext, file: FileDescription) -> dict[str, str]:
    """The table `columns` of the plan."""
    time = context["time"]
    columns = {"user": context["person"], "time": time}
    if (clock := context.answers.get("clock")) is not None:
        if not file.column(time).whole_days:
            raise BadInput(f"--clock: column {time!r} holds times of day already; leave it out")
        columns |= {"time": clock, "date": time}
    where = ("lat", "lon") if context.answers.get("lat") is not None else ("place",)
    columns |= {key: context[key] for key in where}
    for key, name in columns.items():
        if list(columns.values()).count(name) > 1:
            raise BadInput(
                f"{file.path.name}: column {name!r} was given two meanings ({key} is one); name others"
            )
    return columns


def _visit_data(
    context: DraftContext, file: FileDescription, columns: dict[str, str]
) -> tuple[dict[str, object], list[str]]:
    """The `data` table for visits, and what was assumed."""
    time = file.column(context["time"])
    unit = _time_unit(time)
    data: dict[str, object] = {"source": context.source, "columns": columns, **context.text_keys}
    data["timezone"] = context["timezone"]
    data["time_unit"] = unit if unit not in (None, "s") else None
    notes = []
    if (form := _time_format(context, file, columns)) is not None:
        data["time_format"] = form
        notes.append(f"times are written as {_shown_format(form)} (--dates, or time_format in the plan)")
    if "lat" in columns:
        scale = _scale(file, columns)
        data["scale"] = scale if scale != 1.0 else None
        data["grid"], data["box"] = context["grid"], "p0.5"
        near = [zone for zone in _guessed_zones(file, context.answers) if zone != context["timezone"]]
        notes.append(
            f"days and hours are counted in {context['timezone']} (--timezone"
            f"{f'; another clock near there: {near[0]}' if near else ''}); if the places are far from there, "
            "latitude and longitude are interchanged (--lat, --lon)"
        )
    elif file.column(columns["place"]).n_distinct > 100:
        data["top"] = 100
        notes.append("the 100 busiest places are counted (top in the plan)")
    data["epoch"] = context["epoch"]
    if (window := _window(time, parse_epoch_length(context["epoch"]))) is not None:
        data["window"] = window
        notes.append(
            f"of a longer file, the days from {window[0]} to {window[1]} are used (window in the plan)"
        )
    return data, notes


def _time_format(context: DraftContext, file: FileDescription, columns: dict[str, str]) -> str | None:
    """The format of times that are not written as 2024-05-31 10:00, with that of a second column."""
    time = file.column(context["time"])
    fitting = [
        form for form in time.time_formats if len(time.time_formats) == 1 or _order(form) == context["dates"]
    ]
    form = fitting[0] if fitting else None
    if "date" not in columns:
        return form
    clock = file.column(columns["time"])
    if form is None and clock.clock_format is None:
        return None
    day = re.split("[T ]", form or "%Y-%m-%d")[0]  # midnight beside the date is left out
    return f"{day} {clock.clock_format or ('%H:%M:%S' if clock.has_seconds else '%H:%M')}"


def _shown_format(form: str) -> str:
    """A format in words.

    >>> _shown_format("%d.%m.%Y %H:%M")
    'day.month.year hour:minute'
    """
    words = {
        "%d": "day",
        "%m": "month",
        "%Y": "year",
        "%y": "year",
        "%H": "hour",
        "%I": "hour",
        "%M": "minute",
    }
    for mark, word in {**words, "%S": "second", "%p": "AM/PM"}.items():
        form = form.replace(mark, word)
    return form


def _time_unit(time: ColumnDescription) -> str | None:
    """The unit of times that are numbers since 1970; nothing where they are dates, or count otherwise."""
    if not time.is_number or time.high is None or time.time_formats:
        return None
    for unit, seconds in _UNIT_SECONDS.items():
        if seconds is not None and _EARLIEST <= time.high * seconds <= _LATEST:
            return unit
    return None


def _time_range(time: ColumnDescription) -> tuple[float, float] | None:
    """The first and last time, in seconds since 1970; nothing where times are not known here."""
    unit = _time_unit(time)
    if time.low is None or time.high is None or (time.is_number and unit is None and not time.time_formats):
        return None
    factor = _UNIT_SECONDS[unit] or 1.0
    return time.low * factor, time.high * factor


def _window(time: ColumnDescription, epoch: int) -> list[str] | None:
    """The first four whole weeks of a file that is longer; nothing where its times are not known here.

    Where an epoch of several days does not fit into them, as many epochs as do; one, if it is longer.
    """
    first, last = _time_range(time) or (0.0, 0.0)
    if first < _EARLIEST or last - first <= (_LONGEST_DAYS + 7) * 86_400:
        return None
    day = datetime.fromtimestamp(first, tz=UTC).date() + timedelta(days=1)
    day += timedelta(days=-day.weekday() % 7)  # a Monday
    step = max(epoch // DAY, 1)
    days = max(_LONGEST_DAYS // step * step, step)
    return [day.isoformat(), (day + timedelta(days=days)).isoformat()]


def _place_question(file: FileDescription | None, key: str, text: str, found: str | None) -> Question:
    """Ask for the one column of places that is counted; where there are several, none is assumed."""
    if others := other_places(file, found):
        several = f"{text}? There are several places: {', '.join([found or '', *others])}; trips are not "
        return column_question(file, key, f"{several}counted by both", None)
    return column_question(file, key, text, found)


def _cell_questions(file: FileDescription | None) -> Sequence[Question]:
    columns = cell_columns(file) if file is not None else {}
    units = {"event": "one cell of a person", "user": "all cells of a person"}
    return [
        column_question(file, "person", "Which column says who it was", columns.get("user")),
        _place_question(file, "cell", "Which column is counted", columns.get("cell")),
        *_promise_questions(units, "cells of one person"),
    ]


def _draft_cells(context: DraftContext) -> DraftedPlan:
    file = context.file
    assert file is not None
    value = cell_columns(file).get("value")
    columns = {"user": context["person"], "cell": context["cell"], "value": value}
    encoding = context.text_keys["encoding"]
    data: dict[str, object] = {"source": context.source, "columns": columns, "encoding": encoding}
    if file.column(context["cell"]).n_distinct > 2000:
        data["top"] = 2000
    comments = {
        "source": "a row for each person and cell; a relative path starts in this folder",
        "columns": "what the columns of the file are called",
        "top": "the cells with most people",
    }
    text = _plan_text(context, data, TEXT_COMMENTS | comments, "Counts of people per cell")
    roles = [
        ColumnRole("people", (context["person"],), "person"),
        ColumnRole("cells", (context["cell"],), "cell"),
    ]
    roles += [] if value is None else [ColumnRole("how much a person adds", (value,))]
    return DraftedPlan(text=text, exposes=True, roles=tuple(roles))


def _plan_text(context: DraftContext, data: dict[str, object], comments: dict[str, str], title: str) -> str:
    mechanism = _mechanism(context.answers)
    cap = {"user": "per_user", "user-day": "per_day"}.get(context.answers.get("unit") or "")
    lines = [
        *plan_start(
            context,
            "locations",
            title=title,
            question=f"{title}: can an attacker tell that a person is among those counted?",
        ),
        f"rounds = {_FEWEST_ROUNDS}  # simulated releases; more of them give narrower intervals",
        "block = 100",
        "attacks = [",
        '  { name = "likelihood", knowledge = "informed" },  # knows everyone else\'s data: the worst case',
        '  { name = "likelihood", knowledge = "auxiliary" },  # has data of similar people',
        '  { name = "likelihood", knowledge = "zero" },  # has only the release',
        "]",
        "",
        "[audit.data]",
        table_lines(data, comments),
        "[audit.mechanism]  # how the counts are protected",
        table_lines(
            mechanism,
            {
                "name": "the noise; `leakgauge show mechanisms --domain locations` lists others",
                "unit": "what epsilon protects",
                "suppress": "counts up to this are withheld",
                "clamp": "no negative counts",
            },
        ),
        "[audit.challenger]  # who is counted, and who is looked for",
        'group_size = "everyone"  # the table is made of everybody in the file',
        "targets = { n = 10, min_visits = 5 }  # people looked for: 10 chosen at random",
    ]
    if _has_noise(context.answers) and cap:
        lines.append(f"{cap} = {context['cap']}  # at most so much of one person is counted")
    return "\n".join(lines) + "\n" + limits_text(context["limit"])


def _mechanism(answers: Answers) -> dict[str, object]:
    suppress = answers.get("suppress") or None
    if not _has_noise(answers):
        return {"name": "raw", "suppress": suppress}
    return {
        "name": "laplace",
        "epsilon": answers["epsilon"],
        "unit": answers["unit"],
        "round": True,
        "clamp": True,
        "suppress": suppress,
    }


def draft_kinds() -> dict[str, DraftKind]:
    """Return what a plan can be drafted for, by name."""
    return {
        "visits": DraftKind(
            about="A file of visits (who, when, where), to be published as counts per place and hour.",
            keys={
                "person": "the column of people",
                "time": "the column of times",
                "clock": "the column of times of day beside one of dates, or none",
                "dates": "what comes first in a date: day-first or month-first",
                "lat": "the column of latitudes",
                "lon": "the column of longitudes",
                "place": "the column of places",
                "timezone": "the time zone, such as Europe/Rome",
                "grid": "rows and columns of the map, such as 10x10",
                "epoch": "the period of one count, such as 1h",
                "epsilon": "the epsilon that is promised, or none",
                "unit": "what epsilon protects: event, user-day or user",
                "cap": "the most that is counted of one person",
                "suppress": "counts up to this are withheld",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_visit_questions,
            draft=_draft_visits,
            recognise=recognise_visits,
        ),
        "cells": DraftKind(
            about="A table of people and cells without times, to be published as counts per cell.",
            keys={
                "person": "the column of people",
                "cell": "the column that is counted",
                "epsilon": "the epsilon that is promised, or none",
                "unit": "what epsilon protects: event, user-day or user",
                "cap": "the most that is counted of one person",
                "suppress": "counts up to this are withheld",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_cell_questions,
            draft=_draft_cells,
            recognise=recognise_cells,
        ),
    }
