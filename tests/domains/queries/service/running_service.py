"""The service in a thread of this process, over real connections."""

import threading
from contextlib import contextmanager

import uvicorn

from leakgauge.domains.queries.service import server as service_server
from leakgauge.domains.queries.service.server import build_app

TOKEN = "a-token-of-ours"


@contextmanager
def served(rounds):
    door = service_server.listen(0)
    config = uvicorn.Config(build_app(rounds, TOKEN), log_level="warning", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        door.close()
