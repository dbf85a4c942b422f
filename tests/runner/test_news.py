"""News of workers reach whoever watches the run."""

from time import sleep

from leakgauge.core.telling import tell, telling
from leakgauge.runner import news
from leakgauge.runner.engines import Processes, in_order


def train(item):
    tell(f"epoch {item} of 2")
    sleep(1.5)  # longer than it takes to look
    return item


def test_what_a_worker_process_tells_is_heard_here():
    heard = []
    with telling(heard.append):
        assert in_order(Processes(2), train, [1, 2]) == [1, 2]
    assert heard
    assert set(heard) <= {"epoch 1 of 2", "epoch 2 of 2"}


def test_a_worker_writes_now_and_then_and_minds_no_lost_note(tmp_path, monkeypatch):
    clock = iter([0.0, 0.1, 0.6, 1.2])
    monkeypatch.setattr(news, "monotonic", lambda: next(clock))
    path = tmp_path / "latest"
    write = news.writer(path)
    found = []
    for words in ("first", "too soon", "second"):
        write(words)
        found.append(path.read_text())
    assert found == ["first", "first", "second"]
    path.unlink()
    tmp_path.rmdir()
    write("nobody listens any more")
