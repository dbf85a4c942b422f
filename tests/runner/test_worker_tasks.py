import sys

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.runner import worker_tasks


def double(item):
    return 2 * item


def test_function_is_unpickled_once_per_process():
    packed, docket = worker_tasks.pack_task(double)
    assert worker_tasks.run_task(packed, docket, 0, 1) == (0, 2)
    assert worker_tasks.run_task(np.array([], np.uint8), docket, 1, 2) == (1, 4), (
        "the second time needs no bytes"
    )


def test_unpickled_functions_are_limited():
    for n in range(10):
        worker_tasks.run_task(*worker_tasks.pack_task(lambda item, n=n: item + n), 0, 1)
    assert len(worker_tasks._unpacked) == worker_tasks._MOST_UNPACKED


def test_module_search_path_is_sent_to_workers(tmp_path, monkeypatch):
    (tmp_path / "mine_alone.py").write_text("def triple(item):\n    return 3 * item\n")
    with monkeypatch.context() as sender:
        sender.syspath_prepend(tmp_path)
        import mine_alone

        packed, docket = worker_tasks.pack_task(mine_alone.triple)
    monkeypatch.delitem(sys.modules, "mine_alone")
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert str(tmp_path) not in sys.path
    assert worker_tasks.run_task(packed, docket, 0, 2) == (0, 6)


def test_errors_are_returned_to_the_caller():
    def refuse(item):
        raise BadInput(f"no {item}")

    with pytest.raises(BadInput, match="no cat"):
        worker_tasks.unwrap_outcome(worker_tasks.run_task(*worker_tasks.pack_task(refuse), 0, "cat"))
    with pytest.raises(worker_tasks.WorkerError, match="TypeError: unsupported operand") as caught:
        worker_tasks.unwrap_outcome(
            worker_tasks.run_task(*worker_tasks.pack_task(lambda item: item / 2), 0, "cat")
        )
    assert "Traceback" in caught.value.__notes__[0]
