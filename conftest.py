"""Which tests run: nightly ones only on request, and none that needs a library which is not installed.

Where the variable CI is set every library must be installed, and a missing one is a failure.
"""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

# Libraries that users may do without, by the extra that installs them.
EXTRAS = {
    "numba": "fast",
    **dict.fromkeys(("torch", "onnxruntime", "dp_accounting"), "ml"),
    **dict.fromkeys(("flwr", "PIL"), "federated"),
    **dict.fromkeys(("fastapi", "uvicorn", "httpx"), "service"),
    "opendp": "mechanisms",
    **dict.fromkeys(("dask", "distributed", "ray"), "distributed"),
    **dict.fromkeys(("mkdocs", "mkdocstrings"), "docs"),
    **dict.fromkeys(("playwright", "mpmath", "onnx", "opacus", "hypothesis", "nbclient"), "dev"),
}


if find_spec("hypothesis"):
    from hypothesis import settings

    settings.register_profile("untimed", settings(deadline=None))  # no test may depend on a busy machine
    settings.load_profile("untimed")


gc.disable()  # while tests are collected: a quarter of that time would go into looking at modules that stay


def pytest_collection_finish() -> None:
    """Collect garbage again, now that the modules are there."""
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out nightly tests unless -m mentions them, whatever else -m selects.

    Tests of whole pages and examples, the longest, go first: at the end no core waits for one of them.
    """
    whole = config.rootpath / "tests"
    items.sort(key=lambda item: item.path.parent != whole)
    if "nightly" in config.getoption("markexpr"):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """Skip a file of tests that imports a library which is not installed."""
    report = yield
    if report.outcome == "failed" and (reason := _missing_in(str(report.longrepr))):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[Any]:
    """Skip a test that fails because a library is not installed."""
    report = yield
    if report.outcome == "failed" and call.excinfo and (reason := _missing_behind(call.excinfo.value)):
        report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1], f"Skipped: {reason}")
    return report


def _missing_behind(error: BaseException | None) -> str | None:
    """The library whose absence caused an error, directly or through a message that names it."""
    while error is not None:
        found = _missing_in(str(error))
        if found:
            return found
        error = error.__cause__ or error.__context__
    return None


def _missing_in(text: str) -> str | None:
    if os.environ.get("CI"):
        return None
    for library, extra in EXTRAS.items():
        said = (f"No module named '{library}", f"leakgauge[{extra}]")
        if any(words in text for words in said) and find_spec(library) is None:
            return f"needs {library}: pip install 'leakgauge[{extra}]'"
    return None
