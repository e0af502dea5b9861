"""A program ends with all that it started, at the bound of its time, memory, output or files."""

import asyncio
import sys
from pathlib import Path

import pytest

from services.addons.programs import MIB, ProgramBounds, ProgramOverrun, find_program, run_program

SHORT = ProgramBounds(seconds=1.0, memory=512 * MIB, file=MIB, output=1000)


def shell(tmp_path, script: str, bounds=SHORT, **more):
    return run_program(("/bin/sh", "-c", script), tmp_path, bounds, **more)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text()


async def test_a_program_gets_input_and_a_home_and_nothing_of_our_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("ALATE_SECRET", "sesame")
    result = await shell(
        tmp_path, "cat; pwd; echo $HOME $ALATE_SECRET $OWN; echo wrong >&2; exit 3", env={"OWN": "x"}, asks=b"in\n"
    )
    assert result == (3, f"in\n{tmp_path}\n{tmp_path} x\n".encode(), "wrong")


async def test_what_it_started_ends_with_it(tmp_path):
    with pytest.raises(ProgramOverrun, match=r"^takes more than 0.3 s$"):
        await shell(tmp_path, "sleep 100 & echo $! > pid; wait", ProgramBounds(seconds=0.3))
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_it_ends_when_nobody_waits_for_it_any_more(tmp_path):
    task = asyncio.create_task(shell(tmp_path, "echo $$ > pid.new; mv pid.new pid; sleep 100", ProgramBounds()))
    while not (tmp_path / "pid").exists():  # noqa: ASYNC110 - another process has no event to wait for
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait((task,))
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_what_it_says_is_bounded(tmp_path):
    with pytest.raises(ProgramOverrun, match="gives more than 1000 bytes"):
        await shell(tmp_path, "yes")
    result = await shell(tmp_path, "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo end >&2")
    assert (len(result.said) <= 1 << 16, result.said[-3:]) == (True, "end")


async def test_its_memory_and_its_files_are_bounded(tmp_path):
    hungry = (sys.executable, "-c", "x = bytearray(1 << 30)")
    assert "MemoryError" in (await run_program(hungry, tmp_path, ProgramBounds(memory=256 * MIB))).said
    await shell(tmp_path, "head -c 3000000 /dev/zero > large")
    assert (tmp_path / "large").stat().st_size <= MIB


async def test_one_that_is_not_there_ends_with_127(tmp_path):
    assert (await run_program(("/nowhere/program",), tmp_path, SHORT)).code == 127
    assert find_program("no-such-program") is None
