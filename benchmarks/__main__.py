"""Run every benchmark, or those named: ``python -m benchmarks judge_trials``."""

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

NOT_BENCHMARKS = {"__main__", "measure"}


def main() -> None:
    found = [module.name for module in iter_modules([str(Path(__file__).parent)])]
    for name in sys.argv[1:] or [name for name in found if name not in NOT_BENCHMARKS]:
        print(f"## {name}\n{import_module(f'benchmarks.{name}').run()}\n", flush=True)


if __name__ == "__main__":
    main()
