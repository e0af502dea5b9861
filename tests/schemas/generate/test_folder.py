"""Nothing in the folder of generated files can be wrong unnoticed, and nothing of others is touched."""

import pytest

from schemas.generate.folder import differing, write
from schemas.generate.text import MARK

FILES = {"one.md": f"{MARK}\n", "deep/two.json": f"{MARK}\n€\n"}


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, FILES)
    return tmp_path


def test_what_was_written_does_not_differ(folder):
    assert differing(folder, FILES) == ()
    assert write(folder, FILES) == ()


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_is_noticed_and_mended(folder, name):
    right = (folder / name).read_bytes()
    (folder / name).write_bytes(right[:-1] + b"\r")
    assert differing(folder, FILES) == (folder / name,)
    assert write(folder, FILES) == (folder / name,)
    assert (folder / name).read_bytes() == right


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_noticed(folder, name):
    (folder / name).unlink()
    assert differing(folder, FILES) == (folder / name,)


def test_a_file_of_ours_that_nothing_declares_any_more_is_noticed_and_removed(folder):
    stale = folder / "deep" / "old.json"
    stale.write_text(MARK)
    assert differing(folder, FILES) == (stale,)
    write(folder, FILES)
    assert not stale.exists()


def test_a_file_of_somebody_else_stays(folder):
    foreign = folder / "deep" / "notes.json"
    foreign.write_text("mine")
    assert write(folder, FILES) == ()
    assert foreign.read_text() == "mine"
