"""The transcript of trainings: all their steps as columns, and what their accountants recorded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.game import Transcript
from leakgauge.domains.models.dp_training.step_watch import Accounted, WatchedTraining

STEP_COLUMNS = (
    "coin",
    "projection",
    "with_canary",
    "clip",
    "coordinates",
    "squares",
    "cosine",
    "batch_size",
    "divided",
    "influence",
    "clipped_otherwise",
    "spacing",
    "sampled",
)


def write_transcript(trainings: Sequence[WatchedTraining]) -> Transcript:
    """The columns of some trainings; empty where no step was seen."""
    seen = [training for training in trainings if training.n_steps]
    if not seen:
        return {}
    columns = {name: np.concatenate([one.columns[name] for one in seen]) for name in STEP_COLUMNS}
    entries = [
        (number, *entry)
        for number, one in enumerate(seen)
        if one.accounted is not None
        for entry in zip(one.accounted.sigmas, one.accounted.rates, one.accounted.steps)
    ]
    return {
        **columns,
        "training": np.repeat(np.arange(len(seen)), [one.n_steps for one in seen]),
        "complete": np.array([one.complete for one in seen]),
        "rows": np.array([-1 if one.rows is None else one.rows for one in seen]),
        "has_accountant": np.array([one.accounted is not None for one in seen]),
        "replay": np.array(sorted({fact for one in seen for fact in one.replay}), dtype=np.str_).reshape(
            -1, 2
        ),
        "accounted": np.array(entries, dtype=np.float64).reshape(-1, 4),
    }


@dataclass(frozen=True, eq=False)
class TrainingSteps:
    """One training as the transcript has it."""

    columns: dict[str, Reals]
    complete: bool
    rows: int | None
    accounted: Accounted | None

    @property
    def n_steps(self) -> int:
        return len(self.columns["coin"])

    def of(self, name: str) -> Reals:
        return self.columns[name]


def read_transcripts(transcripts: Sequence[Transcript]) -> list[TrainingSteps]:
    """All trainings of all blocks, in their order."""
    trainings = []
    for part in transcripts:
        for number in range(len(part["complete"])):
            here: Bits = part["training"] == number
            entries = part["accounted"][part["accounted"][:, 0] == number]
            trainings.append(
                TrainingSteps(
                    columns={name: part[name][here] for name in STEP_COLUMNS},
                    complete=bool(part["complete"][number]),
                    rows=int(part["rows"][number]) if part["rows"][number] >= 0 else None,
                    accounted=_accounted(entries) if part["has_accountant"][number] else None,
                )
            )
    return trainings


def _accounted(entries: Reals) -> Accounted:
    steps: Ints = entries[:, 3].astype(np.int64)
    return Accounted(
        sigmas=tuple(entries[:, 1].tolist()), rates=tuple(entries[:, 2].tolist()), steps=tuple(steps.tolist())
    )
