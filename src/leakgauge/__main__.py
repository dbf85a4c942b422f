"""``python -m leakgauge``: the same as the command ``leakgauge``."""

from leakgauge.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
