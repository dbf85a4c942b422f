"""The `challenger` table of a plan about a Flower app of the user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import AppSettings
from leakgauge.support.table_reader import read_dataclass
from leakgauge.support.target_choice import TargetChoice, expand_targets
from leakgauge.theory.stated_promise import StatedPromise

APP_KEY = "app"
_TWO_TARGETS = TargetChoice(n=2)
_SOURCE_SUFFIXES = (".py", ".toml")


@dataclass(frozen=True, kw_only=True)
class AppTable:
    """Which Flower project is audited, where its rows come from, and what is promised.

    ``data_hook`` is the function of the app that loads a client's rows; ``inject`` a function of one's own
    that does so in its place. Targets are rows of the client ``partition``. The model is sent ``iterations``
    times in a round; the promise to each row is for all of them together. ``stateful`` accepts a client
    whose answers to the same message differ. ``cross_check`` is how many games of the positive control are
    also played in Flower's simulation.
    """

    app: str
    data_hook: str
    inject: str | None = None
    run_config: dict[str, Any] = field(default_factory=dict)
    targets: TargetChoice = _TWO_TARGETS
    partitions: int = 10
    partition: int = 0
    reference: float | int = 0.5
    iterations: int = 1
    promise: StatedPromise | None = None
    timeout: float = 120.0
    stateful: bool = False
    cross_check: int = 0

    def __post_init__(self) -> None:
        if not self.partitions >= 1:
            raise BadInput(f"partitions must be >= 1, got {self.partitions}")
        if not 0 <= self.partition < self.partitions:
            raise BadInput(
                f"partition must be from 0 to {self.partitions - 1}, got {self.partition}; it is the client "
                "that is audited"
            )
        if not self.iterations >= 1:
            raise BadInput(f"iterations must be >= 1, got {self.iterations}")
        if not 0 <= self.cross_check <= 100:
            raise BadInput(f"cross_check must be from 0 to 100 games, got {self.cross_check}")
        if not 0 < self.timeout < 1e6:
            raise BadInput(f"timeout must be a number of seconds > 0, got {self.timeout}")
        share = isinstance(self.reference, float) and 0 < self.reference < 1
        if not (share or (isinstance(self.reference, int) and self.reference >= 1)):
            raise BadInput(f"reference must be a share in (0, 1) or a number of rows, got {self.reference}")

    def settings(self, folder: Path) -> AppSettings:
        """Return what the process that runs the app needs to know."""
        project = (folder / Path(self.app).expanduser()).resolve()
        if not project.is_dir():
            raise BadInput(f"challenger.app: {project} is no folder; name the folder of a Flower project")
        return AppSettings(
            project=project,
            data_hook=self.data_hook,
            inject=self.inject,
            folder=folder.resolve(),
            run_config=tuple(sorted(self.run_config.items())),
            partitions=self.partitions,
            partition=self.partition,
            timeout=self.timeout,
        )


def read_app_table(
    table: Mapping[str, Any], data: Mapping[str, Any], mechanism: Mapping[str, Any]
) -> AppTable:
    """Read the challenger's table, and refuse tables that an app has no use for."""
    for name, given, way_out in (
        ("data", data, "the app loads its own data; leave it out"),
        (
            "mechanism",
            mechanism,
            "the app adds its own noise; write promise = { epsilon, delta } for a claim",
        ),
    ):
        if given:
            raise BadInput(f"{name}: has no effect with challenger.app: {way_out}")
    return read_dataclass(AppTable, expand_targets(table), "challenger")


def project_sources(settings: AppSettings) -> str:
    """Return a digest of the source files of a project, and of the function that injects rows."""
    digest = sha256()
    files = [
        path
        for path in sorted(settings.project.rglob("*"))
        if path.suffix in _SOURCE_SUFFIXES and not {".venv", ".git"} & set(path.parts)
    ]
    if settings.inject is not None:
        files.append(settings.folder / f"{settings.inject.partition(':')[0].replace('.', '/')}.py")
    for path in files:
        if path.is_file() and path.name != "plan.toml":
            digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()
