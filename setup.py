"""Puts the folder ``examples`` into wheels as ``leakgauge/examples``; all else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".flwr", "runs")


class BuildWithExamples(build_py):
    """Builds the package, and copies the examples into it; an editable install reads them where they are."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "leakgauge" / "examples"
            shutil.copytree("examples", target, ignore=LEFT_OUT, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithExamples})
