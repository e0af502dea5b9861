"""Ranges of versions are read as Helm reads them, and the newest that fits is taken."""

import pytest

from services.addons.sources.versions import InvalidRange, exact, newest, version

KNOWN = ["1.0.0", "v1.2.0", "1.2.3", "1.3.0-rc.1", "1.3.0", "2.0.0", "2.1.0-alpha", "0.2.3", "0.3.0", "not-a-version"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("*", "2.0.0"), ("", "2.0.0"), ("x", "2.0.0"), ("1", "1.3.0"), ("1.x", "1.3.0"), ("1.2.x", "1.2.3"),
        ("1.2.0", "v1.2.0"), ("v1.2.3", "1.2.3"), ("^1.2", "1.3.0"), ("~1.2", "1.2.3"), ("~1", "1.3.0"),
        ("^0.2.3", "0.2.3"), ("^0", "0.3.0"), (">=1.2 <2", "1.3.0"), (">= 1.2, < 2", "1.3.0"), (">1.2", "2.0.0"),
        ("<=1.2", "1.2.3"), ("<1.2", "1.0.0"), ("1.0 - 1.2.9", "1.2.3"), ("!=2.0.0", "1.3.0"),
        (">2.0.0-0", "2.1.0-alpha"),
        ("<1.0.0 || =1.2.3", "1.2.3"), ("1.3.0-rc.1", "1.3.0-rc.1"), ("not-a-version", "not-a-version"),
        (">3", None), (">*", None),
    ],
)  # fmt: skip
def test_the_newest_version_that_fits_a_range_is_found(wanted, found):
    assert newest(KNOWN, wanted) == found


@pytest.mark.parametrize("wanted", ["latest", "1.2.3.4", ">>1", "1.2 and 3", "01.2.3", "1" * 300])
def test_what_is_no_range_is_refused_in_one_sentence(wanted):
    with pytest.raises(InvalidRange, match="range of versions"):
        newest(KNOWN, wanted)


def test_versions_are_ordered_as_the_specification_of_semantic_versions_says():
    texts = ["1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-rc.1", "1.0.0", "1.0.1"]
    parsed = [version(each) for each in texts]
    assert sorted(parsed, reverse=True)[::-1] == parsed
    assert version("1.0.0+one") == version("1.0.0+two")


def test_only_a_whole_version_is_exact():
    assert [exact(each) for each in ("1.2.3", "v1.2.3-rc.1+x", "1.2", "1", "1.x", "^1.2.3")] == [True] * 2 + [False] * 4
