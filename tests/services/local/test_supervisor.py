import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from services.local import child as looked_after
from services.local.child import Phase
from services.local.program import NotStarted
from services.local.supervisor import Supervisor


async def test_a_stage_starts_when_the_one_before_it_answers(program, tmp_path):
    first = program("first", "time.sleep(0.2); ready(); time.sleep(600)")
    second = program(
        "second", f"assert pathlib.Path({str(tmp_path / 'first.up')!r}).exists(); ready(); time.sleep(600)"
    )

    async with Supervisor(((first,), (second,))) as stack:
        assert [(child.phase, child.deaths) for child in stack.children] == [(Phase.UP, 0)] * 2


async def test_a_killed_process_is_started_again_and_counted(program, until):
    async with Supervisor(((program("one"),),)) as stack:
        child = stack.child("one")
        before = child.pid
        child.kill()
        await until(lambda: child.deaths == 1 and child.phase is Phase.UP)

        assert child.pid != before


async def test_what_ends_again_and_again_is_told_with_its_last_words(program):
    with pytest.raises(NotStarted, match=r"broken ends as soon as it is started; .*broken\.log is: no such luck"):
        async with Supervisor(((program("broken", "sys.exit('no such luck')"),),)):
            pass


async def test_nothing_is_left_after_a_failed_start(program, alive, tmp_path):
    good = program(
        "good", f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid())); ready(); time.sleep(600)"
    )

    with pytest.raises(NotStarted):
        async with Supervisor(((good,), (program("broken", "sys.exit(1)"),))):
            pass

    assert not alive(int((tmp_path / "pid").read_text()))


async def test_stopping_asks_first_and_in_reverse_order(program, tmp_path):
    order = tmp_path / "order"
    code = (
        "def bye(*_):\n    with open({order!r}, 'a') as file: file.write('{name} ')\n    sys.exit()\n"
        "signal.signal(signal.SIGTERM, bye); ready(); time.sleep(600)"
    )
    stages = [(program(name, code.format(order=str(order), name=name)),) for name in ("nats", "sandbox", "service")]

    async with Supervisor(stages):
        pass

    assert order.read_text() == "service sandbox nats "


async def test_what_does_not_leave_when_asked_is_killed(program, alive):
    deaf = program("deaf", "signal.signal(signal.SIGTERM, signal.SIG_IGN); ready(); time.sleep(600)", grace=0.2)

    async with Supervisor(((deaf,),)) as stack:
        pid = stack.child("deaf").pid

    assert not alive(pid)


async def test_what_a_process_started_ends_with_it(program, alive, until, tmp_path):
    pid = tmp_path / "pid"
    code = (
        f"p = subprocess.Popen(['sleep', '600']); pathlib.Path({str(pid)!r}).write_text(str(p.pid)); ready(); p.wait()"
    )

    async with Supervisor(((program("parent", code),),)) as stack:
        first = int(pid.read_text())
        stack.child("parent").kill()
        await until(lambda: int(pid.read_text() or 0) not in {0, first} and not alive(first))


@pytest.fixture
def ticking(program, tmp_path, monkeypatch):
    """Says again and again that it lives; stopped, it heeds nothing but SIGKILL within the test's time."""
    monkeypatch.setattr(looked_after, "LOOK", 0.1)
    monkeypatch.setattr(looked_after, "BETWEEN", 0.2)
    tick = tmp_path / "tick"
    endless = f"ready()\nwhile True: pathlib.Path({str(tick)!r}).touch(); time.sleep(0.05)"

    async def alive():
        tick.unlink(missing_ok=True)
        await asyncio.sleep(0.2)
        return tick.exists()

    return replace(program("ticking", endless, grace=600.0), alive=alive)


async def test_what_hangs_is_killed_and_started_again(ticking, until):
    why = set()
    async with Supervisor(((ticking,),), lambda child: why.add(child.why)) as stack:
        child = stack.child("ticking")
        before = child.pid
        os.kill(before, signal.SIGSTOP)
        await until(lambda: child.deaths == 1 and child.phase is Phase.UP)
        assert child.pid not in {None, before}
        assert "hangs" in why
        child.kill()


async def test_what_stopped_for_a_moment_goes_on_by_itself(ticking):
    async with Supervisor(((ticking,),)) as stack:
        child = stack.child("ticking")
        before = child.pid
        os.kill(before, signal.SIGSTOP)
        await asyncio.sleep(0.6)
        os.kill(before, signal.SIGCONT)
        await asyncio.sleep(2.4)
        assert (child.pid, child.deaths) == (before, 0)


STACK = """
import asyncio, sys
from pathlib import Path
from services.local.program import Program
from services.local.supervisor import Supervisor

async def answers():
    return True

async def main():
    log = Path(sys.argv[1]) / "log"
    stages = [[Program(name, ("sleep", "600"), log, answers) for name in ("a", "b")]]
    async with Supervisor(stages) as stack:
        print(*(child.pid for child in stack.children), flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_no_process_outlives_a_supervisor_that_is_killed(alive, until, tmp_path: Path, number):
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STACK, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert supervisor.stdout is not None
    pids = [int(pid) for pid in (await supervisor.stdout.readline()).split()]
    assert all(map(alive, pids))

    os.kill(supervisor.pid, number)
    await supervisor.wait()

    await until(lambda: not any(map(alive, pids)))
