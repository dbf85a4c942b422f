"""Which code plays: versions, and a digest of this package's sources."""

import json
import platform
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from leakgauge.version import VERSION

ROOT = Path(__file__).parents[1]
_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def library_versions() -> dict[str, str]:
    """Name the versions that play."""
    found = {"leakgauge": VERSION, "python": platform.python_version()}
    return found | {library: metadata.version(library) for library in _LIBRARIES}


@cache
def package_digest(root: Path = ROOT) -> str:
    """Return the digest of this package's sources: two runs with the same one play the same game."""
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        digest.update(json.dumps([path.relative_to(root).as_posix(), len(content)]).encode() + content)
    return digest.hexdigest()
