from pathlib import Path

import leakgauge
from leakgauge.runner import code_digest


def test_the_digest_follows_every_source_file(tmp_path):
    root = tmp_path / "leakgauge"
    (root / "core").mkdir(parents=True)
    seen = set()
    for name, text in [
        ("__init__.py", ""),
        ("core/a.py", "x = 1"),
        ("core/a.py", "x = 2"),
        ("core/b.py", "x = 2"),
    ]:
        (root / name).write_text(text)
        seen.add(code_digest.package_digest.__wrapped__(root))
    (root / "core" / "a.py").rename(root / "core" / "c.py")
    seen.add(code_digest.package_digest.__wrapped__(root))
    assert len(seen) == 5
    (root / "notes.txt").write_text("not a source")
    assert code_digest.package_digest.__wrapped__(root) in seen


def test_versions_name_what_decides_the_numbers():
    found = code_digest.library_versions()
    assert found["leakgauge"] == leakgauge.__version__
    assert {"python", "numpy", "scipy"} <= set(found)
    assert Path(leakgauge.__file__).parent.as_posix() not in str(found)


def test_the_sources_are_those_of_the_package():
    assert Path(leakgauge.__file__).parent == code_digest.ROOT
