"""Judges what the replies of a Flower app's client showed besides the game, by the promise of the plan."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leakgauge.core.game import Transcript
from leakgauge.domains.federated.flower_app.app_table import read_app_table
from leakgauge.domains.federated.flower_app.client_games import field_words
from leakgauge.domains.federated.flower_app.reply_check import WEIGHTS
from leakgauge.referee.conformance import Conformance

NOISE_REPEATS = (
    "The noise repeats: weights that no record moves change by the same amounts in messages with different "
    "seeds, so a server can subtract them."
)


def compare_transcripts(
    transcripts: Sequence[Transcript],
    *,
    challenger: dict[str, Any],
    mechanism: dict[str, Any],
    folder: Path,  # noqa: ARG001 (no file is read)
) -> Conformance:
    """Say which parts of replies told two worlds apart, and which nobody read."""
    shown, promise = transcripts[0], read_app_table(challenger, {}, mechanism).promise
    repeats = (NOISE_REPEATS,) if shown["repeats"] else ()
    telling = [str(name) for name in shown["telling"]]
    read = set.intersection(*({str(name) for name in one["fields_read"]} for one in transcripts))
    certain: tuple[str, ...] = ()
    if telling and promise is not None and shown["games"]:
        parts = " and ".join([WEIGHTS] if WEIGHTS in telling else telling)
        text = (
            f"In a reply, {parts} told two clients apart that differ in one record, in all of "
            f"{shown['games']} games with each; by ε = {promise.epsilon:g} that happens less than once in a "
            "trillion times."
        )
        certain = (*repeats, text)
    varying = [str(name) for name in shown["varying"]]
    unread = [field_words(name) for name in varying if name not in read and not (certain and name in telling)]
    if not certain and "" not in read:
        arrays = [WEIGHTS] if WEIGHTS in telling else [f"the array {n}" for n in telling if n not in varying]
        unread += [f"{name} of a reply" for name in arrays]
    unread += sorted({str(name) for one in transcripts for name in one["unread"]})
    return Conformance(
        certain=certain,
        departures=() if certain else repeats,
        unread=tuple(unread),
        for_any_epsilon=False,
    )
