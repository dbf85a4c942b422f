"""The `mechanism` table of a noisy mean: which feature, and the noise on the sum of its values in [0, 1]."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.models.data.dataset import EncodedTable
from leakgauge.mechanisms import mechanism_class, name_of
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.support.table_reader import read_dataclass, require_known

MIN_NOISE_SCALE = 1e-6


def read_sum_noise(table: Mapping[str, Any]) -> tuple[AdditiveNoise, str | None]:
    """The noise on a sum, which one record moves by 1 at most, and the feature if one is named."""
    said = dict(table)
    name, feature = said.pop("name"), said.pop("feature", None)
    for key, way_out in {
        "sensitivity": "one value in [0, 1] moves a sum by 1",
        "unit": "the game is about a record",
    }.items():
        if key in said:
            raise BadInput(f"mechanism {name!r}: {key} is not yours to say: {way_out}; leave it out")
    if feature is not None and not isinstance(feature, str):
        raise BadInput(f"mechanism {name!r}.feature: must be the name of a feature, got {feature!r}")
    said.setdefault("relation", Relation.REPLACE_ONE.value)
    noise = read_dataclass(mechanism_class(name), said, f"mechanism {name!r}")
    if not noise.noise_scale >= MIN_NOISE_SCALE:
        raise BadInput(
            f"mechanism {name!r}: noise of {noise.noise_scale:.3g} on a sum of values in [0, 1] hides nothing"
            f"; {MIN_NOISE_SCALE:.0e} is the least: lower epsilon"
        )
    return noise, feature


def feature_values(loaded: EncodedTable, feature: str | None, noise: AdditiveNoise) -> tuple[str, Reals]:
    """The feature whose mean is released, and its values; the first one that fits, unless one is named.

    Noise on a lattice is for counts: of features that are 0 or 1.
    """
    if feature is not None:
        require_known(feature, loaded.names, "mechanism.feature: no feature")
    wanted = loaded.names if feature is None else (feature,)
    counts = noise.lattice
    for name in wanted:
        values = loaded.rows[:, loaded.names.index(name)].astype(np.float64)
        if not counts or np.isin(values, (0.0, 1.0)).all():
            return name, values
    raise BadInput(
        f"mechanism {name_of(noise)!r}: {wanted[0]!r} is not 0 or 1 in all rows; name a feature that is, or "
        "use laplace"
    )


def group_guarantee(noise: AdditiveNoise, n: int) -> Guarantee:
    """The promise to n records that change together: the same noise, on a sum that moves by n.

    Epsilons add up to n times the record's; the curve is that of the whole move, which is less than n epsilon
    alone would allow.
    """
    record = noise.guarantee
    group = noise.scaled_to(float(n), noise.noise_scale)
    return replace(
        group.guarantee,
        unit=Unit.GROUP,
        relation=Relation.REPLACE_ONE,
        nominal_epsilon=record.epsilon,
        nominal_unit=Unit.RECORD,
    )
