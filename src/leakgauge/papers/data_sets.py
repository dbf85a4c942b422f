"""Published data sets, of visits, images and people, where the folder that a user names has them."""

import json
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Visits or rows that a plan can use: ``table`` is its `data`, ``words`` say what it is."""

    name: str
    words: str
    table: str


def milan(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Tweets of Milan, November and December 2013 (Barlacchi et al. 2015), as they were published."""
    if (path := _find(scope, MILAN)) is None:
        return None
    table = _table(path, f'format = "milano", grid = {list(grid)}, box = "p0.5", {_window(window)}')
    return DataSet(name="milan", words="Social Pulse Milano", table=table)


def new_york(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Check-ins of New York (Yang et al. 2015)."""
    if (path := _find(scope, NEW_YORK)) is None:
        return None
    columns = 'columns = { user = "user", time = "timestamp", lat = "lat", lon = "lon" }'
    clock = 'clock = "utc", timezone = "America/New_York"'
    table = _table(path, f'{columns}, {clock}, grid = {list(grid)}, box = "p0.5", {_window(window)}')
    return DataSet(name="new-york", words="Foursquare New York", table=table)


def kuala_lumpur(scope: Scope, window: tuple[str, str]) -> DataSet | None:
    """Check-ins of Kuala Lumpur (Yang et al. 2019), in 100 regions without coordinates."""
    if (path := _find(scope, KUALA_LUMPUR)) is None:
        return None
    columns = 'columns = { user = "user", time = "hour", place = "region" }'
    table = _table(path, f'{columns}, time_unit = "h", origin = "2012-04-02", {_window(window)}')
    return DataSet(name="kuala-lumpur", words="Foursquare Kuala Lumpur", table=table)


def cabs(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Cabs of San Francisco (Piorkowski et al. 2009), in the middle of the city."""
    if (path := _find(scope, CABS)) is None:
        return None
    columns = 'columns = { user = "cab", time = "ts", lat = "lat_e5", lon = "lon_e5" }, scale = 1e-5'
    clock = 'clock = "utc", timezone = "America/Los_Angeles"'
    box = "box = [37.70, -122.52, 37.82, -122.37]"
    table = _table(path, f"{columns}, {clock}, grid = {list(grid)}, {box}, {_window(window)}")
    return DataSet(name="cabs", words="San Francisco cabs", table=table)


def faces(scope: Scope, features: str) -> DataSet | None:
    """The Olivetti faces of 40 people (AT&T Laboratories Cambridge); ``features`` say how rows are made."""
    if (path := _find(scope, FACES)) is None:
        return None
    table = _table(path, f'keys = {{ rows = "images", labels = "target" }}, {features}')
    return DataSet(name="faces", words="Olivetti faces", table=table)


def imagenette(scope: Scope, features: str) -> DataSet | None:
    """Ten classes of ImageNet (Deng et al. 2009), as fast.ai chose them."""
    if (path := _find(scope, IMAGENETTE)) is None:
        return None
    table = _table(path, f'keys = {{ rows = "jpeg", labels = "wnid" }}, {features}')
    return DataSet(name="imagenette", words="Imagenette", table=table)


def cifar_10(scope: Scope, features: str) -> DataSet | None:
    """CIFAR-10 (Krizhevsky 2009) as 512 features of a network trained on other images."""
    if (path := _find(scope, CIFAR_10)) is None:
        return None
    return DataSet(name="cifar10", words="CIFAR-10 embeddings", table=_table(path, features))


def adult(scope: Scope, more: str = "") -> DataSet | None:
    """Adult (Becker and Kohavi 1996); ``more`` are further keys of its `data` table."""
    return _people(scope, "adult", "Adult", ADULT, more)


def compas(scope: Scope, more: str = "") -> DataSet | None:
    """COMPAS (Larson et al. 2016)."""
    return _people(scope, "compas", "COMPAS", COMPAS, more)


def heart(scope: Scope, more: str = "") -> DataSet | None:
    """Heart disease in four hospitals (Janosi et al. 1988)."""
    return _people(scope, "heart", "heart disease", HEART, more)


def student(scope: Scope, more: str = "") -> DataSet | None:
    """Students of two schools (Cortez 2008)."""
    return _people(scope, "student", "student performance", STUDENT, more)


def location_30(scope: Scope, more: str = "") -> DataSet | None:
    """Profiles of visits in 30 classes (Shokri et al. 2017)."""
    return _people(scope, "location30", "Location-30", LOCATION_30, more)


def census(scope: Scope, more: str = "") -> DataSet | None:
    """The census of 1994 beside Adult, which is made of it too; both have to be there."""
    if (path := _find(scope, ADULT)) is None:
        return None
    beside = f"adult = {json.dumps(str(path.parent))}"
    return _people(scope, "census", "census and Adult", CENSUS, ", ".join(filter(None, [beside, more])))


def _people(scope: Scope, name: str, words: str, files: tuple[str, ...], more: str) -> DataSet | None:
    """A table that a plan knows by its name, and finds in the folder of its first file."""
    if (path := _find(scope, files)) is None:
        return None
    keys = [f"source = {json.dumps(name)}", f"folder = {json.dumps(str(path.parent))}", more]
    return DataSet(name=name, words=words, table=f"{{ {', '.join(filter(None, keys))} }}")


def _find(scope: Scope, patterns: tuple[str, ...]) -> Path | None:
    """The first file that has one of these names, in the folder of the data sets or below."""
    if scope.data is None:
        return None
    found = (path for pattern in patterns for path in sorted(scope.data.rglob(pattern)) if path.is_file())
    return next(found, None)


def _table(path: Path, rest: str) -> str:
    return f"{{ {', '.join(filter(None, [f'source = {json.dumps(str(path))}', rest]))} }}"


def _window(window: tuple[str, str]) -> str:
    return f"window = {json.dumps(list(window))}"
