import os
import subprocess
import sys
from importlib import import_module

import pytest

from events.bus import Unavailable
from events.errors import Denied, NotFound, TryLater
from schemas.crds import InvalidResource
from services.cli.errors import CODES, described
from services.errors import BadInput, Failed


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("x"), 2),
        (InvalidResource("x"), 2),
        (Denied("x", "BadKubeconfig"), 2),
        (Denied("x", "Invalid"), 2),
        (Denied("x", "Forbidden"), 1),
        (Failed("x"), 1),
        (NotFound("x"), 1),
        (TryLater("x"), 1),
        (Unavailable("x"), 1),
    ],
)
def test_every_known_error_is_its_sentence_and_its_exit_code(error, code):
    assert described(error) == ("x", code)


@pytest.mark.parametrize("name", CODES)
def test_every_error_with_an_exit_code_exists(name):
    module, _, kind = name.rpartition(".")
    assert issubclass(getattr(import_module(module), kind), Exception)


def test_of_errors_that_came_together_the_first_is_told():
    assert described(ExceptionGroup("two", [ExceptionGroup("one", [BadInput("first")]), Failed("second")])) == (
        "first",
        2,
    )


def test_a_sentence_is_one_line():
    assert described(Failed("two\nlines"))[0] == "two lines"


def test_a_fault_of_our_own_names_its_place():
    try:
        {}["absent"]
    except KeyError as error:
        sentence, code = described(error)

    assert sentence.startswith("this is a bug of alate, at test_errors.py:")
    assert code == 1


LEFT = """
import sys
from services.cli.errors import nobody_reads
print("a line that nobody reads")
print(nobody_reads(ExceptionGroup("", [BrokenPipeError()])), nobody_reads(OSError()), file=sys.stderr)
"""


def test_a_reader_that_has_left_is_no_failure_and_the_rest_goes_nowhere():
    reading, writing = os.pipe()
    os.close(reading)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    words = (sys.executable, "-c", LEFT)
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, env=env, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "True False\n")
