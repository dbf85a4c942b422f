"""The three columns of the figures: which rows replace those of the paper, and what it states about each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from leakgauge.papers import comparison, data_sets, paper

PUBLISHED = comparison.read_published(__package__)
OTHER_ROWS = "These are other rows than those of which the paper says it."
BUGS = (
    "The published evaluation loses the sign bit when decoding, draws one mask of flips for all rows of a "
    "batch, which raises the TNR, repeats most of its games, attacks one target, and chooses the epoch on "
    "the rows that are then counted. Here every row has independent noise, there are several targets, and "
    "the attacker chooses on its own rows."
)


class FeatureForm(StrEnum):
    """Whether features may be negative; the paper's, which follow a ReLU, are not."""

    SIGNED = "signed"
    NON_NEGATIVE = "non_negative"


@dataclass(frozen=True, kw_only=True, eq=False)
class DataColumn:
    """A column of the paper, and the data that we use for it."""

    name: str
    stands_for: str
    batch: int
    hinges: int  # of each feature, where it is never negative
    file: Callable[[paper.Scope, Mapping[str, Any]], data_sets.DataSet | None]
    features: Mapping[FeatureForm, Mapping[str, Any]]  # keys of the data table
    feature_text: Mapping[FeatureForm, str]  # the same for people

    def data(self, scope: paper.Scope, form: FeatureForm) -> data_sets.DataSet:
        """The rows: of a file if it is there, otherwise generated ones."""
        return self.file(scope, self.features[form]) or GENERATED[form]

    def description(self, scope: paper.Scope, form: FeatureForm) -> str:
        """The data, in short."""
        data = self.data(scope, form)
        if data is GENERATED[form]:
            return f"generated rows{_CUT[form]} for {self.stands_for}"
        return f"{data.description}, {self.feature_text[form]}"


_CUT = {FeatureForm.SIGNED: "", FeatureForm.NON_NEGATIVE: " cut to max(x, 0)"}
_IMAGES = {FeatureForm.SIGNED: {"features": "pca"}, FeatureForm.NON_NEGATIVE: {"features": "random_relu"}}
_NON_NEGATIVE: Mapping[FeatureForm, Mapping[str, Any]] = {
    FeatureForm.SIGNED: {},
    FeatureForm.NON_NEGATIVE: {"non_negative": True},
}
_IMAGE_TEXT = {FeatureForm.SIGNED: "principal components", FeatureForm.NON_NEGATIVE: "random ReLU units"}
GENERATED = {
    form: data_sets.DataSet(
        name="generated",
        description=f"generated rows{_CUT[form]}",
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
    feature_text=_IMAGE_TEXT,
)
IMAGENETTE = DataColumn(
    name="imagenette",
    stands_for="ImageNet",
    batch=64,
    hinges=16,
    file=data_sets.imagenette,
    features=_IMAGES,
    feature_text=_IMAGE_TEXT,
)
CIFAR_10 = DataColumn(
    name="cifar10",
    stands_for="CIFAR-10",
    batch=100,
    hinges=32,
    file=data_sets.cifar_10,
    features=_NON_NEGATIVE,
    feature_text={FeatureForm.SIGNED: "as they are", FeatureForm.NON_NEGATIVE: "max(x, 0)"},
)
COLUMNS = (FACES, IMAGENETTE, CIFAR_10)


def data_note(scope: paper.Scope, columns: tuple[DataColumn, ...] = COLUMNS) -> str:
    """Say which data were used."""
    missing = [
        column.stands_for
        for column in columns
        if column.data(scope, FeatureForm.SIGNED) is GENERATED[FeatureForm.SIGNED]
    ]
    texts = [
        f"{column.data(scope, FeatureForm.SIGNED).description} for {column.stands_for}"
        for column in columns
        if column.stands_for not in missing
    ]
    if missing:
        texts.append(
            f"generated rows for {', '.join(missing)}, whose substitutes were not given (--data with "
            "olivetti_faces.npz, imagenette_subset_jpeg.parquet and cifar10_embeddings_512.npz in it)"
        )
    return (
        f"Simulated on {'; '.join(texts)}. The paper has ResNet-18 features, which are never negative; ours "
        "come in two forms, signed and non-negative. Numbers of other data cannot be compared one by one; "
        "statements about all data of the paper are."
    )


def claim_number(
    setting: str, ours: comparison.OurNumber, published: comparison.PublishedNumber | None, why: str
) -> comparison.ComparedNumber:
    """A number beside a statement; ``why`` explains a difference, or a missing statement."""
    cell = comparison.ComparedNumber(setting=setting, ours=ours, published=published)
    needed = cell.verdict is comparison.Agreement.DIFFERS or published is None
    return replace(cell, why=why) if needed and why else cell


def success_number(
    setting: str, ours: comparison.OurNumber, published: comparison.PublishedNumber | None
) -> comparison.ComparedNumber:
    """The success of a trained neuron; what the paper says of one data set is not compared with others."""
    about_all = (PUBLISHED["bitrand_success_from_5"], PUBLISHED["bitrand_success_from_9"])
    if published is None:
        return comparison.ComparedNumber(setting=setting, ours=ours, drawn=True)
    if published in about_all:
        return claim_number(setting, ours, published, BUGS)
    return comparison.ComparedNumber(
        setting=setting, ours=ours, published=published, other_data=True, why=f"{OTHER_ROWS} {BUGS}"
    )


def success_claim_bitrand(column: DataColumn, epsilon: float) -> comparison.PublishedNumber | None:
    """The success that section 5 states for this column."""
    if epsilon >= 9:
        return PUBLISHED["bitrand_success_from_9"]
    if epsilon >= 5:
        return PUBLISHED["bitrand_success_from_5"]
    return PUBLISHED[f"bitrand_success_from_3_{column.name}"] if epsilon >= 3 else None


def success_claim_ome(column: DataColumn, epsilon: float) -> comparison.PublishedNumber | None:  # noqa: ARG001
    """The success that appendix D states for this column, whatever epsilon."""
    return PUBLISHED[f"ome_success_{column.name}"]


def tnr_claim(column: DataColumn, epsilon: float) -> comparison.PublishedNumber | None:
    """The TNR that section 5 states, except for ImageNet at small epsilon."""
    return None if column.stands_for == "ImageNet" and epsilon <= 4 else PUBLISHED["bitrand_tnr"]
