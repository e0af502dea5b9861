"""What a page shows is compared in form: words and columns count, numbers, times and ids do not."""

import pytest

from tests.docs.forms import WIDEST, fits, shorter


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("train   Ready   1/1   28.59   10s", "train  Ready  1/1  9.5  2m30s"),
        ("since 2026-11-22 21:53:47Z", "since 2026-12-01 01:02:03Z"),
        ("lab-main-1-gpu-jdwx7-2zh24 ready", "lab-main-1-gpu-bcdfg-k9z2w ready"),
        (
            "cluster.lab.b60f81d0-a534-4f1f-ad37-ee2a0bd80ee5.1.1",
            "cluster.lab.a60f81d0-a534-4f1f-ad37-ee2a0bd80eef.1.12",
        ),
        ("see /home/me/.alate/keys", "see /tmp/x/.alate/keys"),
        ("waits for ...", "waits for whatever"),
    ],
)
def test_the_same_form(shown, printed):
    assert fits("x", [shown], [printed])


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["train Ready"], ["train Pending"]),
        (["train Ready"], ["train Ready", "more"]),
        (["train Ready", "more"], ["train Ready"]),
        ([], ["something"]),
        (["a", "...", "c"], ["a", "b"]),
    ],
)
def test_another_form(shown, printed):
    assert not fits("x", shown, printed)


def test_rows_that_are_sorted_by_a_random_name_may_come_in_another_order():
    assert fits("x", ["NAME", "a-1-bcdfg worker", "a-1-xz4k5 other"], ["NAME", "a-1-bcdfg other", "a-1-xz4k5 worker"])


def test_dots_stand_for_any_lines():
    assert fits("x", ["a", "...", "c"], ["a", "b", "b", "c"])
    assert fits("x", ["a", "..."], ["a"])


def test_of_a_command_that_waits_the_first_and_the_last_line_count():
    assert fits(
        "alate request x --wait", ["asked", "Pending", "Ready 1/1"], ["asked", "Launching", "Other", "Ready 1/1"]
    )
    assert not fits("alate request x --wait", ["asked", "Ready 1/1"], ["asked", "Stalled 0/1"])


def test_what_is_written_of_a_command_that_waits_begins_and_ends_as_it_was_printed():
    printed = ["asked", "Pending", "x" * (WIDEST + 1), *"123456789", "Ready"]
    assert shorter("alate request x --wait", printed) == ["asked", "Pending", "1", "2", "3", "4", "Ready"]
    assert shorter("alate request x --wait", ["refused"]) == ["refused"]
    assert shorter("alate get", printed) == printed
