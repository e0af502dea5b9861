"""What servers of charts and artifacts send: archives, indexes, ranges and signatures are taken or refused."""

import gzip
import io
import json
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from events.errors import Denied, TryLater
from schemas.documents import InvalidYaml
from services.addons.sources.chart_index import find_chart
from services.addons.sources.signatures import bundle_is_by, payload_is_by
from services.addons.sources.unpack import ArchiveBounds, unpack
from services.addons.sources.versions import InvalidRange, newest

BOUNDS = ArchiveBounds(unpacked=100_000, files=20)
KEY = generate_private_key(SECP256R1()).public_key()


def tar(**files: str) -> bytes:
    """An archive that is not packed; a value that begins with -> is a link."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = (tarfile.SYMTYPE, text[2:]) if text.startswith("->") else (tarfile.REGTYPE, "")
            info.size = 0 if info.linkname else len(text)
            archive.addfile(info, None if info.linkname else io.BytesIO(text.encode()))
    return whole.getvalue()


ARCHIVES = (tar(a="text", b="->a"), tar(a="->../x"), gzip.compress(tar(a="text")), b"kind: ConfigMap")
INDEXES = (
    b"entries:\n  driver:\n  - version: 1.0.0\n    urls: [a.tgz]\n    digest: abc\n  other:\n  - version: 1\n",
    b'{"entries": {"driver": [{"version": "1.0.0", "urls": ["a"]}]}}',
)
RANGES = (b">=1.2 <2 || ~3.0, !=3.0.1", b"1.x", b"^0.2.3-rc.1+build", b"1.0 - 2")
_ENVELOPE = {"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": "MEUCIQ=="}]}
SIGNATURES = (
    json.dumps({"dsseEnvelope": _ENVELOPE}).encode(),
    b'{"critical": {"image": {"docker-manifest-digest": "sha256:0"}}}',
)


def archives(data: bytes) -> None:
    """An archive's files are within its folder, or it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        file, into = Path(folder) / "file", Path(folder) / "into"
        file.write_bytes(data)
        into.mkdir()
        with suppress(Denied, TryLater):
            unpack(file, into, "x.yaml", "it", BOUNDS)
            assert all(each.resolve().is_relative_to(into.resolve()) for each in into.rglob("*"))
        assert sorted(each.name for each in Path(folder).iterdir()) == ["file", "into"]


def indexes(data: bytes) -> None:
    """An index has a version that fits, or none, or is refused."""
    with suppress(InvalidYaml):
        found, versions = find_chart(data.decode("utf-8", "replace"), "driver", "*")
        assert found is None or found.version in versions


def ranges(data: bytes) -> None:
    """A range fits some versions, or is refused."""
    with suppress(InvalidRange):
        newest(["1.0.0", "v2.1.0-rc.1", "3.0.1"], data.decode("utf-8", "replace"))


def signatures(data: bytes) -> None:
    """What nobody has signed is by nobody."""
    assert not bundle_is_by(KEY, data, "sha256:0")
    assert not payload_is_by(KEY, data, data.decode("utf-8", "replace"), "sha256:0")
