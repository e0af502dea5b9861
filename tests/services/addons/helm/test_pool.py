"""A worker that hangs, dies, takes too much or writes rubbish ends alone, in time, and leaves nothing."""

import asyncio
import os
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from events.errors import Denied, TryLater
from services.addons.helm import pool
from services.addons.helm.pool import HelmWorkers
from services.addons.helm.protocol import WorkerReply, WorkerRequest

SECONDS = 20.0
REPLY = 'print(\'{"revision": 1, "status": "deployed"}\')'


def request(**more):
    return WorkerRequest(operation="install", kubeconfig="k", release="one", namespace="here", **more)


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """Workers that run a script; their folders are in `tmp_path`."""
    (tmp_path / "folders").mkdir()
    monkeypatch.setattr(pool, "mkdtemp", lambda prefix: tempfile.mkdtemp("", prefix, tmp_path / "folders"))

    def written(text, at_once=4):
        script = tmp_path / f"fake{time.time_ns()}.py"
        script.write_text(f"import sys, os, time, signal\n{textwrap.dedent(text)}")
        return HelmWorkers(at_once, (sys.executable, "-P", str(script)))

    yield written
    assert list((tmp_path / "folders").iterdir()) == []


def is_running(pid_file):
    return pid_file.exists() and Path("/proc", pid_file.read_text() or "none").exists()


async def until(holds):
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.01)


async def run(workers, seconds=SECONDS, cluster="one", **more):
    return await workers.run(request(**more), cluster, seconds)


async def test_a_worker_reads_one_line_and_its_reply_is_given(workers):
    reply = await run(workers(f"line = sys.stdin.readline(); assert 'one' in line; {REPLY}"))
    assert reply == WorkerReply(revision=1, status="deployed")


async def test_a_worker_that_hangs_is_ended_by_the_parents_clock(workers, tmp_path):
    text = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nwhile True: time.sleep(1)"
    began = time.monotonic()
    with pytest.raises(TryLater, match=r"did not finish within 1 s"):
        await run(workers(text), seconds=1.0)
    assert time.monotonic() - began < 10
    assert (tmp_path / "pid").exists()
    assert not is_running(tmp_path / "pid")


async def test_a_worker_that_ignores_requests_to_end_is_ended_all_the_same(workers):
    with pytest.raises(TryLater, match="did not finish"):
        await run(workers("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)"), seconds=1.0)


@pytest.mark.parametrize(
    "text", ["os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(3)", "sys.stdin.close(); os._exit(9)"]
)
async def test_a_worker_that_dies_may_be_tried_again(workers, text):
    with pytest.raises(TryLater, match="ended with code"):
        await run(workers(text), values={"large": "x" * 1_000_000})


async def test_a_worker_that_takes_too_much_memory_is_refused(workers):
    text = """
    from services.addons.helm import worker
    worker.limit()
    held = []
    while True: held.append(bytearray(1 << 24))
    """
    with pytest.raises(Denied, match="more memory than Helm may use") as caught:
        await run(workers(text))
    assert caught.value.reason == "TooCostly"


async def test_a_worker_that_takes_too_much_processor_time_is_refused(workers):
    text = """
    from services.addons.helm import worker
    worker.PROCESSOR_SECONDS = 1
    worker.limit()
    while True: pass
    """
    with pytest.raises(Denied, match="processor time") as caught:
        await run(workers(text))
    assert caught.value.reason == "TooCostly"


async def test_rubbish_of_a_worker_may_pass(workers):
    with pytest.raises(TryLater, match="no reply"):
        await run(workers("print('rubbish')"))


async def test_a_worker_that_writes_without_end_is_ended(workers, monkeypatch):
    monkeypatch.setattr(pool, "REPLY", 1_000_000)
    with pytest.raises(Denied, match="more than 1000000 bytes"):
        await run(workers("while True: sys.stdout.write('x' * 100_000)"))


async def test_what_a_worker_complains_of_never_blocks_it(workers):
    reply = await run(workers(f"sys.stderr.write('x' * 5_000_000); {REPLY}"))
    assert reply.revision == 1


async def test_a_worker_gets_a_folder_of_its_own_and_no_key(workers, monkeypatch):
    monkeypatch.setenv("ALATE_SECRET", "s")
    monkeypatch.setenv("KUBECONFIG", "/somebody's")
    text = """
    assert os.environ['HOME'] == os.environ['TMPDIR'] == os.getcwd()
    assert os.stat('.').st_mode & 0o77 == 0 and not os.listdir('.')
    assert 'ALATE_SECRET' not in os.environ and 'KUBECONFIG' not in os.environ
    open('left', 'w').write('kubeconfig')
    """
    assert (await run(workers(f"{textwrap.dedent(text)}{REPLY}"))).revision == 1


async def test_a_call_that_is_cancelled_ends_its_worker(workers, tmp_path):
    text = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nwhile True: time.sleep(1)"
    call = asyncio.create_task(run(workers(text)))
    await until(lambda: is_running(tmp_path / "pid"))
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await until(lambda: not is_running(tmp_path / "pid") and not any((tmp_path / "folders").iterdir()))


async def test_a_cluster_that_hangs_leaves_room_for_others(workers):
    text = f"line = sys.stdin.readline()\nwhile 'slow' in line: time.sleep(1)\n{REPLY}"
    few = workers(text, at_once=2)
    slow = [asyncio.create_task(run(few, cluster="slow", values={"slow": 1})) for _ in range(3)]
    assert (await run(few, cluster="other")).revision == 1
    for each in slow:
        each.cancel()
    await asyncio.gather(*slow, return_exceptions=True)


async def test_the_real_worker_ends_when_its_parent_is_gone():
    read, write = os.pipe()
    text = "from services.addons.helm import worker; worker.end_with_parent(); import time; time.sleep(60)"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", text, stdin=read)
    os.close(read)
    os.close(write)
    assert await asyncio.wait_for(process.wait(), SECONDS) == 1
