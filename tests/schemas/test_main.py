"""`python -m schemas` writes what is declared, and `--check` names what differs."""

import subprocess
import sys

import pytest

from schemas.__main__ import main


@pytest.fixture
def out(tmp_path, capsys):
    assert main(["--out", str(tmp_path)]) == 0
    capsys.readouterr()
    return tmp_path


def test_what_was_just_written_is_right(out, capsys):
    assert main(["--check", "--out", str(out)]) == 0
    assert capsys.readouterr() == ("", "")


def test_one_changed_byte_anywhere_is_named_with_the_command_that_mends_it(out, capsys):
    changed = sorted(path for path in out.rglob("*") if path.is_file())
    for path in changed:
        path.write_bytes(path.read_bytes()[:-1] + b" ")
    assert main(["--check", "--out", str(out)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" ")[0].rsplit("/", 1)[1] for line in said] == [path.name for path in changed]
    assert all(line.endswith("differs from what schemas declares: run `make generate`") for line in said)


def test_a_check_writes_nothing(tmp_path):
    assert main(["--check", "--out", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []


def test_another_process_writes_the_same_bytes(out):
    program = [sys.executable, "-m", "schemas", "--check", "--out", str(out)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
