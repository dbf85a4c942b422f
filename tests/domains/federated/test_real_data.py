"""Real files: rows and classes as the README of the data counts them, features that fit into ten bits."""

import os
from pathlib import Path

import numpy as np
import pytest

from leakgauge.domains.federated.data.data_loader import load_rows
from leakgauge.domains.federated.data.row_split import split_rows
from leakgauge.support.target_choice import TargetChoice

FOLDER = os.environ.get("LEAKGAUGE_DATA")
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="real data are not part of the package; LEAKGAUGE_DATA names their folder"
)

CIFAR = {"source": "cifar10/cifar10_embeddings_512.npz"}
FACES = {"source": "faces/olivetti_faces.npz", "keys": {"rows": "images", "labels": "target"}}
IMAGENETTE = {"source": "imagenette/imagenette_subset_jpeg.parquet", "keys": {"labels": "wnid"}}
RANDOM = {"features": "random_relu"}


@pytest.mark.parametrize(
    ("table", "n", "pixels", "dimensions", "per_class"),
    [
        (CIFAR, 12_000, 512, 512, [1_200] * 10),
        (FACES, 400, 64 * 64, 189, [10] * 40),
        (FACES | RANDOM, 400, 64 * 64, 512, [10] * 40),
        pytest.param(IMAGENETTE, 1_500, 64 * 64 * 3, 512, [150] * 10, marks=pytest.mark.nightly),
        (IMAGENETTE | RANDOM, 1_500, 64 * 64 * 3, 512, [150] * 10),
    ],
)
def test_real_features_fit_into_ten_bits(table, n, pixels, dimensions, per_class):
    loaded = load_rows(table, Path(FOLDER), seed=1)
    parts = split_rows(
        loaded, targets=TargetChoice(n=20), reference=0.5, batch=20, rng=np.random.default_rng(1)
    )
    features = loaded.features(parts.reference)
    assert loaded.rows.shape == (n, pixels)
    assert np.bincount(loaded.labels).tolist() == per_class
    assert features.shape == (n, dimensions)
    assert np.isfinite(features).all()
    assert np.mean(np.abs(features[parts.clients]) > 31.9375) < 1e-4
    assert np.quantile(np.abs(features), 0.9) > 0.5  # and of which something is left after rounding to 1/16


def test_embeddings_mark_training_rows():
    assert load_rows(CIFAR, Path(FOLDER), seed=1).is_train.sum() == 10_000


def test_no_image_of_embeddings_occurs_twice():
    loaded = load_rows(CIFAR, Path(FOLDER), seed=1)
    parts = split_rows(
        loaded, targets=TargetChoice(n=500), reference=0.5, batch=100, rng=np.random.default_rng(1)
    )
    assert parts.notes == ()
