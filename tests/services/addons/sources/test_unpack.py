"""Archives are unpacked within bounds, and nothing in them leads out of their folder."""

import gzip
import io
import tarfile

import pytest

from events.errors import Denied, TryLater
from services.addons.sources.tree import measure
from services.addons.sources.unpack import MIB, ArchiveBounds, unpack
from tests.services.addons.sources.world import tgz

SMALL = ArchiveBounds(unpacked=MIB, files=50)


@pytest.fixture
def opened(tmp_path):
    def do(data: bytes, bounds=SMALL):
        (tmp_path / "file").write_bytes(data)
        into = tmp_path / "into"
        into.mkdir()
        unpack(tmp_path / "file", into, "x.yaml", "the file", bounds)
        return into

    return do


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def test_an_archive_is_unpacked_with_its_folders_and_links_inside(opened):
    into = opened(tgz({"a/one.yaml": "1", "./b/two.yaml": "2", "a/link": link("a/link", "../b/two.yaml")}))
    assert (into / "a/one.yaml").read_text() == "1"
    assert (into / "a/link").read_text() == "2"


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_archive_is_a_file_by_its_name(opened, packed):
    assert (opened(gzip.compress(b"kind: X") if packed else b"kind: X") / "x.yaml").read_bytes() == b"kind: X"


@pytest.mark.parametrize(
    "files",
    [
        {"../out": "x"},
        {"/etc/out": "x"},
        {"a/../../out": "x"},
        {"/".join("d" * 40): "x"},
        {"l": link("l", "/etc/passwd")},
        {"l": link("l", "../out")},
        {"d": link("d", "."), "l": link("l", "d/../..")},
        {"d": link("d", ".."), "l": link("d/l", "x")},
        {"h": link("h", "/etc/passwd", tarfile.LNKTYPE)},
        {"f": link("f", "", tarfile.FIFOTYPE)},
        {"c": link("c", "", tarfile.CHRTYPE)},
    ],
)
def test_what_leads_out_or_is_no_file_is_refused(opened, tmp_path, files):
    with pytest.raises(Denied) as refused:
        opened(tgz(files))
    assert refused.value.reason == "InvalidArchive"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "into"]


def test_nothing_is_written_through_a_link(opened, tmp_path):
    with pytest.raises(Denied):
        opened(tgz({"d": link("d", "/tmp"), "d/x": "written"}))  # noqa: S108 - the very place
    assert not any(each.name == "x" and each.is_symlink() for each in tmp_path.rglob("*"))


@pytest.mark.parametrize(
    "data",
    [
        tgz({"zeros": bytes(2 * MIB)}),
        tgz({f"{number}/zeros": bytes(MIB // 4) for number in range(5)}),
        gzip.compress(bytes(2 * MIB)),
        bytes(2 * MIB),
        tgz({f"{number}": "" for number in range(51)}),
    ],
    ids=["one file", "many files", "no archive", "not packed", "number"],
)
def test_a_bomb_is_refused_at_its_bound(opened, data):
    with pytest.raises(Denied) as refused:
        opened(data)
    assert refused.value.reason == "TooLarge"


def test_a_long_header_is_no_way_around_the_bound(opened):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("x")
        info.pax_headers = {"comment": "x" * (4 * MIB)}
        archive.addfile(info)
    with pytest.raises(Denied, match="more than"):
        opened(whole.getvalue())


@pytest.mark.parametrize("data", [b"PK\x03\x04zip", b"\x1f\x8bnonsense", tgz({"a": "1"})[:20] + b"damaged" * 20])
def test_what_cannot_be_unpacked_is_refused_in_one_sentence(opened, data):
    with pytest.raises(Denied, match=r"^the file is a ") as refused:
        opened(data)
    assert refused.value.reason == "InvalidArchive"


def test_what_was_cut_off_is_asked_for_again(opened):
    with pytest.raises(TryLater, match="not sent whole"):
        opened(tgz({"a": "some text that is long enough"})[:-12])


def test_a_file_that_is_there_twice_is_refused(opened):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("same"))
    with pytest.raises(Denied, match="'same' twice"):
        opened(whole.getvalue())


def test_the_digest_is_of_paths_and_contents_alone(tmp_path):
    for name, files in {"a": {"x": "1", "d/y": "2"}, "b": {"d/y": "2", "x": "1"}, "c": {"x": "1", "d/z": "2"}}.items():
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
    (tmp_path / "b" / "x").chmod(0o600)
    one, same, other = (measure(tmp_path / name) for name in "abc")
    assert one == same
    assert (one.size, one.digest == other.digest) == (2, False)
