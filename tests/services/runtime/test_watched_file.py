"""A watched file is read when it has changed, keeps its last good content, and reports each problem once."""

from pathlib import Path

import pytest

from services.runtime.watched_file import WatchedFile, read_start


class Number:
    """A file that must hold a number, and what its reader logs."""

    def __init__(self, path: Path) -> None:
        self.file = WatchedFile(path, 0)
        self.reads = 0
        self.problems: list[str] = []

    def look(self) -> int:
        try:
            if self.file.changed():
                self.reads += 1
                self.file.accept(int(read_start(self.file.path, 10)))
        except (OSError, ValueError) as error:
            if self.file.refuse(type(error).__name__, again=isinstance(error, OSError)):
                self.problems.append(self.file.problem)
        return self.file.content


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "number").write_text("1")
    return tmp_path / "number"


def test_a_file_is_read_at_the_first_look_and_then_only_after_a_change(path: Path):
    number = Number(path)
    assert number.file.content == 0
    assert (number.look(), number.look(), number.reads) == (1, 1, 1)
    path.write_text("23")
    assert (number.look(), number.look(), number.reads) == (23, 23, 2)


def test_a_file_that_is_replaced_by_one_of_equal_size_is_read(path: Path):
    number = Number(path)
    number.look()
    path.with_name("next").write_text("2")
    path.with_name("next").replace(path)
    assert number.look() == 2


def test_a_deleted_file_keeps_its_content_is_reported_once_and_is_read_when_it_is_back(path: Path):
    number = Number(path)
    number.look()
    path.rename(path.with_name("away"))
    assert (number.look(), number.look(), number.problems) == (1, 1, ["FileNotFoundError"])
    path.with_name("away").rename(path)
    assert (number.look(), number.file.problem) == (1, "")


def test_an_unreadable_file_keeps_its_content_and_is_tried_at_each_look(path: Path):
    number = Number(path)
    number.look()
    path.unlink()
    path.mkdir()
    assert (number.look(), number.look(), number.reads, number.problems) == (1, 1, 3, ["IsADirectoryError"])


def test_a_half_written_file_keeps_its_content_and_is_read_once_until_it_is_whole(path: Path):
    number = Number(path)
    number.look()
    path.write_text("12 ...")
    assert (number.look(), number.look(), number.reads, number.problems) == (1, 1, 2, ["ValueError"])
    path.write_text("123")
    assert (number.look(), number.file.problem) == (123, "")


def test_a_problem_that_returns_after_a_good_content_is_reported_again(path: Path):
    number = Number(path)
    for text in ("", "2", "x"):
        path.write_text(text)
        number.look()
    assert number.problems == ["ValueError", "ValueError"]


def test_a_mounted_configmap_is_read_when_its_links_are_swapped(tmp_path: Path):
    """As kubelets do it: the file is a link into `..data`, which is itself a link that is replaced in one stroke."""
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "number").write_text(version)
    (tmp_path / "..data").symlink_to("1")
    (tmp_path / "number").symlink_to("..data/number")
    number = Number(tmp_path / "number")
    assert number.look() == 1
    (tmp_path / "..next").symlink_to("2")
    (tmp_path / "..next").replace(tmp_path / "..data")
    assert (number.look(), number.reads, number.problems) == (2, 2, [])


def test_at_most_the_given_number_of_bytes_is_read(path: Path):
    path.write_text("12345")
    assert read_start(path, 3) == b"123"
