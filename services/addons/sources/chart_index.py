"""Reads of a chart repository's index what it says of one chart, and not of the others, as an index may be large."""

import re
from typing import Any, NamedTuple

import msgspec

from schemas.documents import InvalidYaml, document
from schemas.registry import UNREADABLE
from services.addons.sources.versions import newest

LARGEST = 32 << 20
"""Bytes of an index."""
MOST_OF_ONE = 8 << 20
"""Characters that it may say of one chart: of the largest, with 900 versions, it is less than half of that."""


FIELDS = frozenset({"version", "urls", "digest"})
_FIRST, _FIELD = re.compile(r"  - (\w+):"), re.compile(r"    (\w+):")
"""The first field of an entry, and any other, as Helm indents them."""


class ChartEntry(NamedTuple):
    """One version of a chart."""

    version: str
    url: str
    """As it is written: often relative to the repository."""
    digest: str
    """sha256 of the archive in hex; empty if the index does not say."""


def find_chart(text: str, name: str, wanted: str) -> tuple[ChartEntry | None, list[str]]:
    """The newest version of a chart that fits, and all versions. Raises InvalidYaml, versions.InvalidRange."""
    entries = [each for each in map(_entry, _entries(text, name)) if each]
    versions = list(dict.fromkeys(each.version for each in entries))
    found = newest(versions, wanted)
    return next((each for each in entries if each.version == found), None), versions


def _entry(written: object) -> ChartEntry | None:
    """What can be used of an entry; None for one that cannot."""
    if not isinstance(written, dict) or not isinstance(written.get("version"), str):
        return None
    urls, digest = written.get("urls"), written.get("digest")
    if not isinstance(urls, list) or not urls or not isinstance(urls[0], str):
        return None
    return ChartEntry(written["version"], urls[0], "" if digest is None else str(digest).removeprefix("sha256:"))


def _entries(text: str, name: str) -> list[Any]:
    """What the index lists of a chart; one that is neither laid out as Helm does nor JSON is read if it is small."""
    block = _block(text, name)
    try:
        found = document(block, MOST_OF_ONE) if block else None
        if isinstance(found, dict) and isinstance(found.get(name), list):
            return list(found[name])
    except InvalidYaml:  # it is laid out otherwise: read all of it
        pass
    whole = _json(text) if text.lstrip()[:1] == "{" else document(text)
    listed = whole.get("entries") if isinstance(whole, dict) else None
    if not isinstance(listed, dict):
        raise InvalidYaml("it holds no entries")
    mine = listed.get(name)
    return mine if isinstance(mine, list) else []


def _json(text: str) -> Any:  # noqa: ANN401 - whatever somebody wrote
    """An index in JSON is read a hundred times faster than as the YAML that it is as well."""
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return document(text)


def _block(text: str, name: str) -> str:
    """The lines of one chart, in an index as Helm writes it; empty if it looks otherwise."""
    entries = re.search(r"^entries:[ \t]*$", text, re.MULTILINE)
    start = entries and re.compile(rf"^  (['\"]?){re.escape(name)}\1:[ \t]*$", re.MULTILINE).search(text, entries.end())
    if not start:
        return ""
    end = re.compile(r"^(?:  )?[^\s#-]", re.MULTILINE).search(text, start.end())
    return _lean(text[start.start() : end.start() if end else len(text)])


def _lean(block: str) -> str:
    """The same lines without the fields of an entry that nobody asks for, which are nine of ten."""
    kept, keeping = [], True
    for line in block.splitlines():
        first, field = _FIRST.match(line), _FIELD.match(line)
        if found := first or field:
            keeping = found[1] in FIELDS
        if keeping:
            kept.append(line)
        elif first:
            kept.append("  - _:")
    return "\n".join(kept)
