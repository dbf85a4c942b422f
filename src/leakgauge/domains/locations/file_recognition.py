"""Recognise a file of visits, or a table of people and cells, by the names and values of its columns."""

from collections.abc import Collection

from leakgauge.support.file_description import ColumnDescription, FileDescription, name_parts
from leakgauge.support.plan_draft import Answers, Recognised

# words for columns in English, German, French, Spanish and Italian, without accents; the first that fits wins
_PERSON = (
    *("user", "person", "uid", "userid", "device", "imei", "msisdn", "subscriber", "cab", "taxi", "vehicle"),
    *("benutzer", "nutzer", "gerat", "geraet", "fahrzeug", "teilnehmer", "utilisateur", "usager", "appareil"),
    *("personne", "vehicule", "abonne", "usuario", "dispositivo", "vehiculo", "abonado", "utente", "veicolo"),
)
_PERSON_TOO = (
    *("rider", "customer", "patient", "card", "participant", "sample", "individual"),
    *(
        "kunde",
        "kundennummer",
        "kundin",
        "karte",
        "kartennummer",
        "fahrgast",
        "patientennummer",
        "personennummer",
    ),
    *(
        "client",
        "carte",
        "identifiant",
        "cliente",
        "tarjeta",
        "paciente",
        "identificador",
        "carta",
        "tessera",
    ),
    *("paziente", "identificativo"),
)
_PERSON_WORDS = (*_PERSON, *_PERSON_TOO)
_PERSON_NAMES = (  # a bare "id" may be that of a row or a trip: it comes after all that name a person
    *_PERSON_WORDS,
    *(name for word in _PERSON_WORDS for name in (f"{word}_id", f"id_{word}", f"{word}_nr", f"{word}_no")),
    "id",
)
_TIME = (
    *("time", "timestamp", "datetime", "ts", "t", "date", "when", "start", "hour", "ms"),
    *(
        "zeit",
        "zeitpunkt",
        "zeitstempel",
        "datum",
        "beginn",
        "horodatage",
        "heure",
        "debut",
        "fecha",
        "momento",
    ),
    *("inicio", "marca_de_tiempo", "data", "ora", "orario", "inizio"),
)
_CLOCK = (
    *("time", "clock", "uhrzeit", "zeit", "heure", "hora", "ora", "orario"),
    *("hour", "hours", "hh", "hhmm", "uhr", "stunde", "std", "horaire", "horario"),
)
_LAT = ("lat", "latitude", "y", "breite", "breitengrad", "latitud", "latitudine")
_LON = (
    *("lon", "lng", "long", "longitude", "x", "laenge", "lange", "laengengrad", "langengrad", "longitud"),
    "longitudine",
)
PLAIN_AXES = ("y", "x")  # names that say which axis it is only on maps that are drawn so
_PLACE = (
    *("place", "venue", "poi", "zone", "cell", "region", "station", "tower", "antenna", "site", "location"),
    *(
        "stop",
        "ort",
        "gebiet",
        "bezirk",
        "haltestelle",
        "bahnhof",
        "zelle",
        "standort",
        "lieu",
        "commune",
        "arret",
    ),
    *("quartier", "antenne", "lugar", "zona", "parada", "estacion", "celda", "antena", "municipio", "luogo"),
    *("fermata", "stazione", "cella", "comune", "quartiere"),
)
_CELL = (
    *(
        "cell",
        "snp",
        "variant",
        "allele",
        "item",
        "product",
        "category",
        "code",
        "diagnosis",
        "origin",
        "place",
    ),
    *("produkt", "artikel", "kategorie", "diagnose", "produit", "article", "categorie", "diagnostic"),
    *(
        "producto",
        "articulo",
        "categoria",
        "diagnostico",
        "codigo",
        "prodotto",
        "articolo",
        "diagnosi",
        "codice",
    ),
)
_SECOND = (  # names of the second place of a trip
    *("destination", "dest", "dropoff", "ziel", "destino", "destinazione"),
)
_VALUE = ("value", "alleles", "genotype", "dosage", "wert", "valeur", "valor", "valore")


def visit_columns(file: FileDescription) -> dict[str, str]:
    """The columns that make up a visit, as far as their names and types say."""
    found: dict[str, ColumnDescription | None] = {
        "time": file.find(_TIME, ("time",))
        or next((column for column in file.columns if column.kind == "time"), None)
        or next((column for column in file.columns if column.time_formats and _named(column, _TIME)), None)
        or file.find(_TIME, ("whole", "real", "text")),
        "lat": file.find(_LAT, ("whole", "real")),
        "lon": file.find(_LON, ("whole", "real")),
        "place": file.find(_PLACE, ("text", "whole")),
    }
    user = file.find(_PERSON_NAMES, ("text", "whole"))
    found["user"] = user if user not in (found["time"], found["place"]) else None
    if found["lat"] is not None and found["lon"] is not None:
        found["place"] = None
    else:
        found["lat"] = found["lon"] = None
    return {key: column.name for key, column in found.items() if column is not None}


def _named(column: ColumnDescription, words: Collection[str]) -> bool:
    return not set(words).isdisjoint(name_parts(column.name))


def clock_columns(file: FileDescription, answers: Answers) -> tuple[str | None, list[str]]:
    """The column of times of day, where the one of times holds only dates; others that look like one."""
    if not file.column(answers["time"]).whole_days:
        return None, []
    used = [answers.get(key) for key in ("person", "time", "lat", "lon", "place")]
    free = [column for column in file.columns if column.name not in used]
    clocks = [column for column in free if column.kind == "clock"]
    named = [column for column in free if _named(column, _CLOCK)]
    found = [column for column in clocks if column in named] or clocks
    found = found or [column for column in named if column.clock_format is not None]
    if found:
        return found[0].name, []
    timed = [column for column in free if column.kind == "time" and not column.whole_days]
    return None, [column.name for column in (*named, *(other for other in timed if other not in named))]


def unnamed_points(file: FileDescription) -> bool:
    """Whether two columns whose names say nothing may be coordinates."""
    near = [
        column
        for column in file.columns
        if column.kind == "real" and column.low is not None and column.high is not None
    ]
    return sum((column.low or 0) >= -180 and (column.high or 0) <= 180 for column in near) >= 2


def _repeated(file: FileDescription, *, but: Collection[str]) -> list[str]:
    """Columns of names that return, as those of people and places do."""
    return [
        column.name
        for column in file.columns
        if column.kind in ("text", "whole")
        and column.name not in but
        and 2 <= column.n_distinct <= 0.5 * file.n_rows
    ]


def recognise_visits(file: FileDescription) -> Recognised | None:
    """Whether a file holds visits of people: who, when and where."""
    columns = visit_columns(file)
    shown = ", ".join(f"{name} ({key})" for key, name in columns.items())
    if {"user", "time"} <= set(columns) and {"lat", "place"} & set(columns):
        repeated = file.column(columns["user"]).n_distinct <= 0.5 * file.n_rows
        return Recognised(score=0.95 if repeated else 0.5, because=f"columns {shown}", sure=repeated)
    if "time" not in columns or file.column(columns["time"]).kind != "time":
        return None
    others = _repeated(file, but=columns.values())
    who = "user" in columns or others
    where = (
        "lat" in columns
        or "place" in columns
        or unnamed_points(file)
        or len(others) > ("user" not in columns)
    )
    if not who or not where:
        return None
    because = f"columns {shown}; which of the others are people and places is not clear from their names"
    return Recognised(score=0.55, because=because, sure=False)


def cell_columns(file: FileDescription) -> dict[str, str]:
    """The columns of people, cells and values, as far as their names and types say."""
    user = file.find(_PERSON_NAMES, ("text", "whole"))
    cell = file.find(_CELL, ("text", "whole")) or file.find(_PLACE, ("text", "whole"))
    value = file.find(_VALUE, ("whole",))
    found = {"user": user, "cell": cell if cell != user else None, "value": value}
    return {key: column.name for key, column in found.items() if column is not None}


def other_places(file: FileDescription | None, chosen: str | None) -> list[str]:
    """Columns besides the chosen one that look like a second place, as those of trips have."""
    if file is None or chosen is None:
        return []
    repeated = _repeated(file, but=(chosen,))
    return [name for name in repeated if _named(file.column(name), (*_PLACE, *_SECOND))]


def recognise_cells(file: FileDescription) -> Recognised | None:
    """Whether a file is a table of people and cells, without times."""
    columns = cell_columns(file)
    if not {"user", "cell"} <= set(columns) or len(file.columns) > 4:
        return None
    if file.column(columns["user"]).n_distinct > 0.5 * file.n_rows:
        return None
    if any(column.kind == "time" for column in file.columns):
        return None
    shown = ", ".join(f"{name} ({key})" for key, name in columns.items())
    return Recognised(score=0.7, because=f"columns {shown}, and no time")
