"""Versions of the libraries whose results enter the trials, here and in the workers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.runner.worker_tasks import Task

LIBRARIES = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn", "torch": "torch"}  # by import


def installed_versions(libraries: Iterable[str]) -> dict[str, str]:
    """Return the versions of those of some libraries that are installed."""
    from importlib import metadata

    versions = {}
    for library in libraries:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return versions


@dataclass(frozen=True)
class VersionGuard:
    """A task that a worker refuses if it has other library versions than the process that sent it."""

    task: Task
    versions: Mapping[str, str]

    def __call__(self, item: Any) -> Any:
        installed = installed_versions(self.versions)
        for library, version in self.versions.items():
            if (there := installed.get(library, "no version")) != version:
                raise BadInput(
                    f"a worker has {library} {there}, and the process that started it {version}; install the "
                    "same versions on every worker"
                )
        return self.task(item)
