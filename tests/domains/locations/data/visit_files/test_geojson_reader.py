import io
import json

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files import geojson_reader
from leakgauge.domains.locations.data.visit_files.geojson_reader import iterate_features

ITEMS = [{"type": "Feature", "id": i, "text": 'a "features": [ ] { , ' * (i % 3)} for i in range(20)]


@pytest.mark.parametrize("chunk", [7, 50, 1000, 1 << 20])
@pytest.mark.parametrize("form", ["collection", "list", "lines", "sequence"])
def test_features_are_streamed_across_chunks(monkeypatch, chunk, form):
    text = {
        "collection": json.dumps({"crs": {"a": [1]}, "features": ITEMS, "bbox": [1]}),
        "list": json.dumps(ITEMS, indent=1),
        "lines": "\n".join(map(json.dumps, ITEMS)) + "\n\n",
        "sequence": "".join("\x1e" + json.dumps(item) + "\n" for item in ITEMS),
    }[form]
    first = len(text) if form == "collection" and chunk < 50 else chunk  # the opening must fit into a chunk
    monkeypatch.setattr(geojson_reader, "CHUNK", max(chunk, 50) if form == "collection" else first)
    assert list(iterate_features(io.StringIO(text), "x")) == ITEMS


@pytest.mark.parametrize(
    "text",
    ['{"features": [{"a": 1}', '{"features": [{"a": 1}, {"b"', '[{"a": 1}, oops]', '{"a": 1} {"b": '],
    ids=repr,
)
def test_rejects_truncated_file(text):
    with pytest.raises(BadInput, match=r"x: feature 2 is not JSON .* cut off or damaged"):
        list(iterate_features(io.StringIO(text), "x"))


def test_empty_collection_has_no_features():
    assert list(iterate_features(io.StringIO('{"type": "FeatureCollection", "features": []}'), "x")) == []
    assert list(iterate_features(io.StringIO("  "), "x")) == []
