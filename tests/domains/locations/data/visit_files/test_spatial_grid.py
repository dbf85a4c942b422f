import duckdb
import numpy as np
import pytest

from domains.locations.tiny_files import HEADER, loaded, spelled, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.spatial_grid import (
    BoundingBox,
    even_grid,
    metric_grid,
    to_metres,
)

UNIT = BoundingBox(south=0.0, west=0.0, north=2.0, east=4.0)
EARTH = 6_371_008.8


def places(grid, points):
    sql = f"SELECT {grid.place('y', 'x')} FROM (SELECT unnest(?) AS y, unnest(?) AS x)"
    lat, lon = zip(*points)
    return [row[0] for row in duckdb.connect().execute(sql, [list(lat), list(lon)]).fetchall()]


def test_rows_go_north_and_columns_east():
    grid = even_grid(UNIT, 2, 4)
    points = [(0.5, 0.5), (0.5, 3.5), (1.5, 0.5), (1.5, 2.5)]
    assert places(grid, points) == [0, 3, 4, 6]


def test_edges_belong_to_north_and_east_cells():
    grid = even_grid(UNIT, 2, 4)
    assert places(grid, [(0.0, 0.0), (1.0, 1.0), (2.0, 4.0), (2.0, 0.0)]) == [0, 5, 7, 4]


def test_grid_matches_numpy_on_random_points():
    rng = np.random.default_rng(3)
    box = BoundingBox(south=37.7, west=-122.52, north=37.82, east=-122.37)
    lat, lon = rng.uniform(37.7, 37.82, 2000), rng.uniform(-122.52, -122.37, 2000)
    rows = np.digitize(lat, np.linspace(37.7, 37.82, 11)[1:-1])
    columns = np.digitize(lon, np.linspace(-122.52, -122.37, 9)[1:-1])
    assert places(even_grid(box, 10, 8), zip(lat.tolist(), lon.tolist())) == (rows * 8 + columns).tolist()


def haversine(lat, lon, lat2, lon2):
    a, b = np.radians(lat), np.radians(lat2)
    chord = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(np.radians(lon2 - lon) / 2) ** 2
    return 2 * EARTH * np.arcsin(np.sqrt(chord))


def test_metric_cells_have_requested_length():
    milan = BoundingBox(south=45.40, west=9.05, north=45.53, east=9.27)
    grid = metric_grid(milan, 1600)
    middle = (milan.south + milan.north) / 2
    assert haversine(middle, 9.05, middle, 9.05 + grid.width) == pytest.approx(1600, rel=1e-4)
    assert haversine(45.40, 9.05, 45.40 + grid.height, 9.05) == pytest.approx(1600, rel=1e-9)
    assert grid.n_rows == np.ceil(haversine(45.40, 9.05, 45.53, 9.05) / 1600)
    assert grid.n_columns == np.ceil(haversine(middle, 9.05, middle, 9.27) / 1600)
    steps = np.diff(grid.positions[: grid.n_columns, 0])
    np.testing.assert_allclose(steps, 1600)
    np.testing.assert_allclose(grid.positions[0], [800, 800])


def test_box_of_whole_cells_adds_no_partial_cell():
    degree = EARTH * np.pi / 180
    assert metric_grid(BoundingBox(south=-0.5, west=0, north=0.5, east=1), degree / 4).n_places == 16


def test_distances_match_great_circle():
    lat, lon = np.array([45.4, 45.5, 45.45]), np.array([9.1, 9.2, 9.3])
    flat = to_metres(lat, lon)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.hypot(*(flat[i] - flat[j])) == pytest.approx(
            haversine(lat[i], lon[i], lat[j], lon[j]), rel=2e-3
        )


def test_percentile_box_matches_numpy(tmp_path):
    rng = np.random.default_rng(5)
    lat, lon = rng.normal(45, 0.1, 1000), rng.normal(9, 0.1, 1000)
    written(
        tmp_path,
        "v.csv",
        HEADER,
        *(f"{i},0,{y!r},{x!r}" for i, (y, x) in enumerate(zip(lat.tolist(), lon.tolist()))),
    )
    found = loaded(tmp_path, source="v.csv", grid=[3, 3], box="p2.5")
    (south, north), (west, east) = np.quantile(lat, [0.025, 0.975]), np.quantile(lon, [0.025, 0.975])
    inside = (lat >= south) & (lat <= north) & (lon >= west) & (lon <= east)
    assert found.tally.kept == inside.sum()
    rows = np.minimum((lat - south) / (north - south) * 3, 2).astype(int)
    columns = np.minimum((lon - west) / (east - west) * 3, 2).astype(int)
    expected = {str(i): [(int(rows[i] * 3 + columns[i]), 0)] for i in np.flatnonzero(inside)}
    assert spelled(found) == expected


def test_without_box_grid_covers_all_visits(tmp_path):
    written(tmp_path, "v.csv", HEADER, "a,0,1,1", "b,0,3,5")
    found = loaded(tmp_path, source="v.csv", grid=[2, 2])
    assert spelled(found) == {"a": [(0, 0)], "b": [(3, 0)]}
    written(tmp_path, "w.csv", HEADER, "a,0,1,1", "b,0,1,5")
    with pytest.raises(BadInput, match="widen it if two edges are equal"):
        loaded(tmp_path, source="w.csv", grid=[2, 2])
