"""Runs of pytest within a test, for the plugin: libraries that they import stay imported."""

import sys
from importlib.metadata import entry_points

import _pytest.pytester


class SysModulesSnapshot:
    """Forgets the test files of an inner run, and nothing else.

    The snapshot of pytester forgets every module. A library that is imported a second time has other classes
    of the same names, which fail later tests of the same process.
    """

    def __init__(self, preserve=None):
        self.before = set(sys.modules)

    def restore(self):
        for name in set(sys.modules) - self.before:
            if name.startswith("test_"):
                del sys.modules[name]


def run_inner_tests(pytester, monkeypatch, *arguments):
    """Run the tests in the folder of ``pytester`` with the plugin, also where it is no entry point yet."""
    monkeypatch.setattr(_pytest.pytester, "SysModulesSnapshot", SysModulesSnapshot)
    installed = "leakgauge" in {one.name for one in entry_points(group="pytest11")}
    given = () if installed else ("-p", "leakgauge.pytest_plugin")
    return pytester.runpytest_inprocess(*given, "-p", "no:cacheprovider", *arguments)
