"""The blocks of an audit in order, up to the one at which it stops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.core.game import Trials, joined_trials
from leakgauge.plan import Audit, Stop
from leakgauge.promise_tests import StoppingSchedule, promise_refuted
from leakgauge.risk import is_limit_decided
from leakgauge.runner.block_store import BlockStore, RoundBlock
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.risk_context import risk_context


@dataclass(eq=False)
class BlockSequence:
    """Consecutive blocks from the first on; an audit that may stop early ends with the one that decides it.

    Where it ends does not depend on the workers, nor on the order in which blocks were run.
    """

    labels: tuple[str, ...]
    decided: Callable[[str, Trials], bool] | None  # by label; nothing: the audit runs all its rounds
    parts: list[Mapping[str, Trials]] = field(default_factory=list)

    def add(self, trials: Mapping[str, Trials]) -> bool:
        """Add the next block; return whether every contender is decided now."""
        self.parts.append(trials)
        return self.decided is not None and all(
            self.decided(label, self.trials(label)) for label in self.labels
        )

    def trials(self, label: str) -> Trials:
        """Return the trials of one contender."""
        parts = [part[label] for part in self.parts]
        if any(part.reading != parts[0].reading for part in parts):
            raise BadInput(
                f"{label}: the attack was trained differently when the run was continued, perhaps on another "
                "machine or with other library versions; start a new run in another folder"
            )
        return joined_trials(parts)


def empty_sequence(audit: Audit, run: Manifest) -> BlockSequence:
    """Return the sequence of an audit before its first block."""
    labels = tuple(contender.label for contender in audit.contenders)
    return BlockSequence(labels, None if audit.stop is Stop.ROUNDS else _StoppingRule(audit, run))


@dataclass(frozen=True, eq=False)
class _StoppingRule:
    """Whether all that was asked about a contender is decided: its promise refuted, its limits settled."""

    audit: Audit
    run: Manifest

    def __call__(self, label: str, trials: Trials) -> bool:
        return self._is_promise_refuted(trials) and self._is_limit_decided(label, trials)

    def _is_promise_refuted(self, trials: Trials) -> bool:
        guarantee = self.run.metadata[self.audit.name].guarantee
        return guarantee is None or promise_refuted(
            trials,
            guarantee=guarantee,
            metrics=self.audit.metrics,
            n_verdicts=self.run.n_verdicts,
            schedule=StoppingSchedule(block=self.audit.block),
        )

    def _is_limit_decided(self, label: str, trials: Trials) -> bool:
        limits = self.run.plan.limits
        (contender,) = (who for who in self.audit.contenders if who.label == label)
        if not limits.metrics or not limits.counts(contender.knowledge, label):
            return True
        return is_limit_decided(trials, limits, risk_context(self.audit, contender, self.run))


def stopping_schedule(audit: Audit) -> StoppingSchedule | None:
    """Return when an audit that may stop early is evaluated."""
    return None if audit.stop is Stop.ROUNDS else StoppingSchedule(block=audit.block)


def load_block(stores: Mapping[str, BlockStore], block: RoundBlock) -> dict[str, Trials] | None:
    """Read one block of all contenders; nothing where it is missing for any of them."""
    loaded = {label: store.load(block) for label, store in stores.items()}
    complete = {label: trials for label, trials in loaded.items() if trials is not None}
    return complete if len(complete) == len(loaded) else None


def require_block(stores: Mapping[str, BlockStore], block: RoundBlock) -> dict[str, Trials]:
    """Read a block; raise ``IncompleteRun`` where it is missing."""
    if (trials := load_block(stores, block)) is None:
        missing = next(one for one, store in stores.items() if store.load(block) is None)
        file = f"{missing}/{stores[missing].path(block).name}"
        rounds = f"rounds {block.rounds.start} to {block.rounds.stop - 1}"
        raise IncompleteRun(f"{file}: block {block.index} ({rounds}) is missing or damaged")
    return trials
