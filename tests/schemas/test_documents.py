"""YAML that others wrote is read, or refused by one error in one sentence; it never ends the process."""

import pytest

from schemas.documents import DEEPEST, MOST_VALUES, InvalidYaml, document, documents


def test_every_document_is_read_those_that_say_nothing_too():
    assert documents("a: 1\n---\n---\n[b]\n") == [{"a": 1}, None, ["b"]]


def test_the_only_document_is_read_and_of_two_none():
    assert (document("a: 1"), document(""), document("# nothing")) == ({"a": 1}, None, None)
    with pytest.raises(InvalidYaml, match="it holds 2 documents: one is read"):
        document("a: 1\n---\nb: 2")


def test_what_is_nested_to_the_limit_is_read():
    (found,) = documents("[" * DEEPEST + "]" * DEEPEST)
    assert isinstance(found, list)


@pytest.mark.parametrize("depth", [DEEPEST + 1, 200_000])
def test_what_is_nested_deeper_is_refused(depth):
    with pytest.raises(InvalidYaml, match="it is nested more than 100 deep"):
        documents("[" * depth + "]" * depth)


def bomb(line):
    return "a0: &a0 {x: 1}\n" + "".join(line.format(each=each, last=each - 1) for each in range(1, 12))


WRONG = {
    "a: [": "at line 2: did not find expected node content",
    "!!python/object/apply:os.system [ls]": "could not determine a constructor",
    "a: *b": "found undefined alias",
    "at: !!timestamp 2020-13-45": "it has what cannot be read: month must be in 1..12",
    "n: " + "9" * 5000: "it has what cannot be read: Exceeds the limit",
    "!!int x": "it has what cannot be read",
    "!!bool maybe": "it has what cannot be read",
    "!!timestamp x": "it has what cannot be read",
    "? [a]\n: b": "found unhashable key",
    "\x00": "it has what cannot be read: unacceptable character",
    "a: &a [*a]": "the alias a stands within what it stands for",
    bomb("a{each}: &a{each} [*a{last}, *a{last}, *a{last}, *a{last}, *a{last}]\n"): f"more than {MOST_VALUES} values",
    bomb("a{each}: &a{each}\n  <<: [*a{last}, *a{last}, *a{last}, *a{last}, *a{last}]\n"): f"more than {MOST_VALUES}",
    "x" * 101: "it has 101 characters: at most 100 are read",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:20])
@pytest.mark.timeout(10)
def test_what_cannot_be_taken_is_refused_in_one_line(text):
    with pytest.raises(InvalidYaml) as caught:
        documents(text, 100 if "xxx" in text else 10_000)
    assert WRONG[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_aliases_that_come_to_little_are_read():
    assert documents("a: &a {b: &b [1]}\nc: [*a, *a]\nd: {<<: *a, e: *b}\n")[0]["d"] == {"b": [1], "e": [1]}


def test_plain_words_are_read_as_kubernetes_reads_them():
    text = "[=, 22:30, 10:20:30.5, 2026-01-01, 2026-01-01T00:00:00Z, 0x10, 1_000, 0644, 1.5, yes, null, ~, .inf, 7]"
    texts = ["=", "22:30", "10:20:30.5", "2026-01-01", "2026-01-01T00:00:00Z"]
    assert document(text) == [*texts, 16, 1000, 420, 1.5, True, None, None, float("inf"), 7]
