import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kube.process import BOND, Process

pytestmark = pytest.mark.stack
ROOT = Path(__file__).parents[2]
ALIVE = ("/bin/sh", "-c", 'exec >"$0"; echo up; exec sleep 600')
"""Holds a pipe open for as long as it lives."""
A_TEST = """
import signal
from pathlib import Path
from tests.kube.process import Process

def test_that_never_ends():
    Process({command!r}, Path({log!r})).start()
    signal.pause()
"""


@pytest.fixture
def alive(tmp_path):
    """A pipe that ends with the last who writes into it."""
    os.mkfifo(tmp_path / "alive")
    return tmp_path / "alive"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_ends_with_the_tests_however_they_are_ended(tmp_path, alive, end):
    file = tmp_path / "test_a.py"
    file.write_text(A_TEST.format(command=(*ALIVE, str(alive)), log=str(tmp_path / "log")))
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, str(file))
    tests = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)})
    with alive.open("rb") as server:
        assert server.readline() == b"up\n"
        tests.send_signal(end)
        assert tests.wait() == -end
        assert server.read() == b""


@pytest.mark.parametrize("end", [Process.stop, Process.kill])
def test_nobody_waits_any_more_for_a_server_that_was_ended(tmp_path, alive, end):
    process = Process((*ALIVE, str(alive)), tmp_path / "log")
    process.start()
    with alive.open("rb") as server:
        end(process)
        assert server.read() in (b"", b"up\n")
    assert not process.alive
    assert process.pid not in BOND._pids


def test_a_program_that_is_not_there_is_told_of(tmp_path):
    process = Process(("/nowhere/etcd",), tmp_path / "log")
    process.start()
    with pytest.raises(RuntimeError, match=r"/nowhere/etcd did not become ready:\n.*/nowhere/etcd"):
        process.wait(lambda: False)
    process.stop()
