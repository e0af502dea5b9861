"""Whether there is a Docker engine is found out, and told in one sentence where there is none."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.kube.process import free_ports
from tests.story.containers.engine import absent


class Engine(BaseHTTPRequestHandler):
    """Answers what is asked of an engine first."""

    def do_GET(self):
        body = b'{"ApiVersion": "1.51"}' if self.path.endswith("/version") else b"OK"
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if body != b"OK" else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def port():
    server = HTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_engine_that_answers_is_there(port, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{port}")
    assert absent() == ""


@pytest.mark.parametrize("where", ["tcp://127.0.0.1:{port}", "unix://{folder}/docker.sock"])
def test_one_that_does_not_is_told_in_one_sentence(where, tmp_path, monkeypatch):
    url = where.format(port=free_ports(1)[0], folder=tmp_path)
    monkeypatch.setenv("DOCKER_HOST", url)
    told = absent()
    assert told.startswith(f"no Docker engine answers at {url} (")
    assert told.endswith("): start one, or name it with DOCKER_HOST")
    assert "\n" not in told
