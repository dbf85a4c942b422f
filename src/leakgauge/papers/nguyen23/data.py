"""The three columns of the figures: which rows stand for those of the paper, and in which form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from leakgauge.papers import data_sets
from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.paper import Scope


class FeatureForm(StrEnum):
    """Whether features may be negative; the paper's, which follow a ReLU, are not."""

    SIGNED = "signed"
    NON_NEGATIVE = "non_negative"


@dataclass(frozen=True, kw_only=True, eq=False)
class DataColumn:
    """A column of the paper, and what we play in its place."""

    name: str
    stands_for: str
    batch: int
    hinges: int  # of each feature, where it is never negative
    file: Callable[[Scope, Mapping[str, Any]], DataSet | None]
    features: Mapping[FeatureForm, Mapping[str, Any]]  # keys of the data table
    made: Mapping[FeatureForm, str]  # the same in words

    def data(self, scope: Scope, form: FeatureForm) -> DataSet:
        """The rows: of a file if it is there, else generated ones."""
        return self.file(scope, self.features[form]) or GENERATED[form]

    def words(self, scope: Scope, form: FeatureForm) -> str:
        """What is played on, in short."""
        data = self.data(scope, form)
        if data is GENERATED[form]:
            return f"generated rows{_CUT[form]} for {self.stands_for}"
        return f"{data.words}, {self.made[form]}"


_CUT = {FeatureForm.SIGNED: "", FeatureForm.NON_NEGATIVE: " cut to max(x, 0)"}
_IMAGES = {FeatureForm.SIGNED: {"features": "pca"}, FeatureForm.NON_NEGATIVE: {"features": "random_relu"}}
_NON_NEGATIVE: Mapping[FeatureForm, Mapping[str, Any]] = {
    FeatureForm.SIGNED: {},
    FeatureForm.NON_NEGATIVE: {"non_negative": True},
}
_IMAGE_WORDS = {FeatureForm.SIGNED: "principal components", FeatureForm.NON_NEGATIVE: "random ReLU units"}
GENERATED = {
    form: DataSet(
        name="generated",
        words=f"generated rows{_CUT[form]}",
        table={
            "source": "synthetic",
            "rows": 4000,
            "features": 512,
            "classes": 10,
            **_NON_NEGATIVE[form],
        },
    )
    for form in FeatureForm
}
FACES = DataColumn(
    name="faces",
    stands_for="CelebA",
    batch=20,
    hinges=16,
    file=data_sets.faces,
    features=_IMAGES,
    made=_IMAGE_WORDS,
)
IMAGENETTE = DataColumn(
    name="imagenette",
    stands_for="ImageNet",
    batch=64,
    hinges=16,
    file=data_sets.imagenette,
    features=_IMAGES,
    made=_IMAGE_WORDS,
)
CIFAR_10 = DataColumn(
    name="cifar10",
    stands_for="CIFAR-10",
    batch=100,
    hinges=32,
    file=data_sets.cifar_10,
    features=_NON_NEGATIVE,
    made={FeatureForm.SIGNED: "as they are", FeatureForm.NON_NEGATIVE: "max(x, 0)"},
)
COLUMNS = (FACES, IMAGENETTE, CIFAR_10)


def data_note(scope: Scope, columns: tuple[DataColumn, ...] = COLUMNS) -> str:
    """Say what the figures rest on."""
    missing = [
        column.stands_for
        for column in columns
        if column.data(scope, FeatureForm.SIGNED) is GENERATED[FeatureForm.SIGNED]
    ]
    told = [
        f"{column.data(scope, FeatureForm.SIGNED).words} for {column.stands_for}"
        for column in columns
        if column.stands_for not in missing
    ]
    if missing:
        told.append(
            f"generated rows for {', '.join(missing)}, whose substitutes were not given (--data with "
            "olivetti_faces.npz, imagenette_subset_jpeg.parquet and cifar10_embeddings_512.npz in it)"
        )
    return (
        f"Played on {'; '.join(told)}. The paper has ResNet-18 features, which are never negative; ours come "
        "in two forms, signed and non-negative. Numbers of other data cannot be compared one by one; what "
        "the text says of all its data is judged."
    )
