"""Public data sets of visits, images and people, as `data` tables of plans, where their files are given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leakgauge.papers.paper import Scope

MILAN = ("*milan*.geojson", "*milan*.geojson.gz", "*milan*.json", "*milan*.json.gz")
NEW_YORK = ("foursquare_nyc_checkins.csv.gz",)
KUALA_LUMPUR = ("foursquare_kuala_lumpur_checkins.parquet",)
CABS = ("cabspotting_*.parquet",)
FACES = ("olivetti_faces.npz",)
IMAGENETTE = ("imagenette_*jpeg.parquet",)
CIFAR_10 = ("cifar10_embeddings_512.npz",)
ADULT = ("adult.data", "adult.data.gz")
CENSUS = ("census-income.data", "census-income.data.gz", "census-income.data.parquet")
COMPAS = ("compas-scores-two-years.csv", "compas-scores-two-years.csv.gz")
HEART = ("processed.cleveland.data", "processed.cleveland.data.gz")
STUDENT = ("student-por.csv", "student-por.csv.gz")
LOCATION_30 = ("dataset_location.tgz",)


TRIMMED_BOX = "p0.5"  # leaves out the outermost half percent of positions on each side


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Visits or rows that a plan can use; ``table`` is the `data` table of the plan."""

    name: str
    description: str
    table: Mapping[str, Any] = field(hash=False)


def milan(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Tweets of Milan, November and December 2013 (Barlacchi et al. 2015), in their published format."""
    if (path := _find(scope, MILAN)) is None:
        return None
    table = {
        "source": str(path),
        "format": "milano",
        "grid": list(grid),
        "box": TRIMMED_BOX,
        "window": list(window),
    }
    return DataSet(name="milan", description="Social Pulse Milano", table=table)


def new_york(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Check-ins of New York (Yang et al. 2015)."""
    if (path := _find(scope, NEW_YORK)) is None:
        return None
    table = {
        "source": str(path),
        "columns": {"user": "user", "time": "timestamp", "lat": "lat", "lon": "lon"},
        "clock": "utc",
        "timezone": "America/New_York",
        "grid": list(grid),
        "box": TRIMMED_BOX,
        "window": list(window),
    }
    return DataSet(name="new-york", description="Foursquare New York", table=table)


def kuala_lumpur(scope: Scope, window: tuple[str, str], place: str = "region") -> DataSet | None:
    """Check-ins of Kuala Lumpur (Yang et al. 2019), in 100 regions without coordinates, or by category."""
    if (path := _find(scope, KUALA_LUMPUR)) is None:
        return None
    table = {
        "source": str(path),
        "columns": {"user": "user", "time": "hour", "place": place},
        "time_unit": "h",
        "origin": "2012-04-02",
        "window": list(window),
    }
    name, text = ("", "") if place == "region" else (f"-{place}", f" by {place}")
    return DataSet(name=f"kuala-lumpur{name}", description=f"Foursquare Kuala Lumpur{text}", table=table)


def cabs(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Cabs of San Francisco (Piorkowski et al. 2009), in the middle of the city."""
    if (path := _find(scope, CABS)) is None:
        return None
    table = {
        "source": str(path),
        "columns": {"user": "cab", "time": "ts", "lat": "lat_e5", "lon": "lon_e5"},
        "scale": 1e-5,
        "clock": "utc",
        "timezone": "America/Los_Angeles",
        "grid": list(grid),
        "box": [37.70, -122.52, 37.82, -122.37],
        "window": list(window),
    }
    return DataSet(name="cabs", description="San Francisco cabs", table=table)


def faces(scope: Scope, options: Mapping[str, Any]) -> DataSet | None:
    """The Olivetti faces of 40 people (AT&T Laboratories Cambridge); ``options`` say how rows are made."""
    if (path := _find(scope, FACES)) is None:
        return None
    table = {"source": str(path), "keys": {"rows": "images", "labels": "target"}, **options}
    return DataSet(name="faces", description="Olivetti faces", table=table)


def imagenette(scope: Scope, options: Mapping[str, Any]) -> DataSet | None:
    """Ten classes of ImageNet (Deng et al. 2009), as fast.ai chose them."""
    if (path := _find(scope, IMAGENETTE)) is None:
        return None
    table = {"source": str(path), "keys": {"rows": "jpeg", "labels": "wnid"}, **options}
    return DataSet(name="imagenette", description="Imagenette", table=table)


def cifar_10(scope: Scope, options: Mapping[str, Any]) -> DataSet | None:
    """CIFAR-10 (Krizhevsky 2009) as 512 features of a network trained on other images."""
    if (path := _find(scope, CIFAR_10)) is None:
        return None
    return DataSet(name="cifar10", description="CIFAR-10 embeddings", table={"source": str(path), **options})


def adult(scope: Scope, **options: Any) -> DataSet | None:
    """Adult (Becker and Kohavi 1996); ``options`` are further keys of its `data` table."""
    return _people(scope, "adult", "Adult", ADULT, options)


def compas(scope: Scope, **options: Any) -> DataSet | None:
    """COMPAS (Larson et al. 2016)."""
    return _people(scope, "compas", "COMPAS", COMPAS, options)


def heart(scope: Scope, **options: Any) -> DataSet | None:
    """Heart disease in four hospitals (Janosi et al. 1988)."""
    return _people(scope, "heart", "heart disease", HEART, options)


def student(scope: Scope, **options: Any) -> DataSet | None:
    """Students of two schools (Cortez 2008)."""
    return _people(scope, "student", "student performance", STUDENT, options)


def location_30(scope: Scope, **options: Any) -> DataSet | None:
    """Profiles of visits in 30 classes (Shokri et al. 2017)."""
    return _people(scope, "location30", "Location-30", LOCATION_30, options)


def census(scope: Scope, **options: Any) -> DataSet | None:
    """The census of 1994 and Adult, which comes from the same census; the files of both are needed."""
    if (path := _find(scope, ADULT)) is None:
        return None
    return _people(scope, "census", "census and Adult", CENSUS, {"adult": str(path.parent), **options})


def _people(
    scope: Scope, name: str, description: str, files: tuple[str, ...], options: Mapping[str, Any]
) -> DataSet | None:
    """A data set that a plan knows by name and reads from the folder of its first file."""
    if (path := _find(scope, files)) is None:
        return None
    return DataSet(
        name=name, description=description, table={"source": name, "folder": str(path.parent), **options}
    )


def _find(scope: Scope, patterns: tuple[str, ...]) -> Path | None:
    """The first file with one of these names, in the folder of the data sets or below."""
    if scope.data is None:
        return None
    paths = (path for pattern in patterns for path in sorted(scope.data.rglob(pattern)) if path.is_file())
    return next(paths, None)
