"""Repositories of Git: one commit of a branch or tag over HTTP and SSH, without hooks, links out and submodules."""

import asyncio
import os
import socket
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from events.errors import Denied, TryLater
from events.http.addresses import LOOPBACK, Reach
from services.addons.sources.unpack import MIB, ArchiveBounds
from tests.services.addons.sources.repository import Repository, serve
from tests.services.addons.sources.world import CONFIG, spec

INSIDE = Reach(frozenset({LOOPBACK}))


@pytest.fixture
def repository(server, tmp_path):
    made = Repository(tmp_path / "served" / "addons")
    made.commit({"base/one.yaml": CONFIG, "over/kustomization.yaml": "resources: [../base]"})
    serve(server, tmp_path / "served")
    return made


@pytest.fixture
def git(server, repository):
    def do(url="", path="", **revision):
        return spec(git={"url": url or f"{server.url}/git/addons", **revision}, path=path)

    return do


@pytest.mark.parametrize("reach", [None, INSIDE])
async def test_a_branch_a_tag_and_a_commit_are_fetched(world, repository, git, reach):
    first = repository.git("rev-parse", "HEAD")
    repository.git("tag", "-a", "-m", "x", "v1.0.0")
    second = repository.commit({"base/one.yaml": CONFIG.replace("small", "large")})
    sources = world.sources(reach=reach)
    for revision, told, size in (
        ({}, f"HEAD@sha1:{second}", "large"),
        ({"branch": "main"}, f"main@sha1:{second}", "large"),
        ({"tag": "v1.0.0"}, f"v1.0.0@sha1:{first}", "small"),
        ({"commit": first}, f"sha1:{first}", "small"),
    ):
        found = await sources.fetch(git(**revision), "acme")
        assert found.revision == told
        assert size in found.path.joinpath("base/one.yaml").read_text()
    assert not (found.path / ".git").exists()


async def test_a_branch_is_followed_and_what_is_unchanged_is_not_fetched_again(world, server, repository, git):
    sources = world.sources(interval=timedelta(minutes=5))
    first = await asyncio.gather(*(sources.fetch(git(branch="main", path="over"), "acme") for _ in range(100)))
    world.pass_time(minutes=6)
    assert (await sources.fetch(git(branch="main", path="over"), "acme")).revision == first[0].revision
    fetched = server.asked["/git/addons/git-upload-pack"]
    assert fetched == 4, "two to look up, one of each for the refs, and one more for the files of the first"
    repository.commit({"base/one.yaml": CONFIG.replace("small", "large")})
    world.pass_time(minutes=6)
    assert (await sources.fetch(git(branch="main", path="over"), "acme")).digest != first[0].digest


async def test_history_is_not_fetched(world, repository, git):
    for number in range(5):
        repository.commit({"large": os.urandom(MIB), "number": str(number)})
    bounds = ArchiveBounds(unpacked=2 * MIB)
    found = await world.sources(bounds=bounds).fetch(git(), "acme")
    assert found.path.joinpath("number").read_text() == "4"


async def test_a_repository_that_is_too_large_is_ended_at_its_bound(world, repository, git):
    repository.commit({f"large-{number}": os.urandom(MIB) for number in range(4)})
    with pytest.raises(Denied, match=r"/git/addons is larger than may be fetched$") as refused:
        await world.sources(bounds=ArchiveBounds(unpacked=MIB)).fetch(git(), "acme")
    assert refused.value.reason == "TooLarge"


async def test_what_a_repository_says_of_archives_and_filters_changes_no_file(world, repository, git):
    attributes = "*.yaml export-ignore\n*.txt export-subst eol=crlf filter=evil\n"
    repository.commit({".gitattributes": attributes, "a.txt": "$Format:%H$\nb\n"})
    path = (await world.sources().fetch(git(), "acme")).path
    assert path.joinpath("a.txt").read_bytes() == b"$Format:%H$\nb\n"
    assert path.joinpath("base/one.yaml").is_file()


async def test_links_stay_inside(world, repository, git):
    repository.commit({}, link={"link.yaml": "base/one.yaml"})
    assert (await world.sources().fetch(git(), "acme")).path.joinpath("link.yaml").read_text() == CONFIG
    repository.commit({}, link={"out.yaml": "/etc/passwd"})
    world.pass_time(hours=1)
    with pytest.raises(Denied, match=r"holds the link 'out.yaml', which leads out of it"):
        await world.sources().fetch(git(), "acme")


async def test_submodules_are_not_fetched(world, repository, git, tmp_path):
    other = Repository(tmp_path / "other")
    other.commit({"x": "x"})
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.folder), "sub")
    repository.commit({})
    assert list((await world.sources().fetch(git(), "acme")).path.joinpath("sub").iterdir()) == []


@pytest.mark.parametrize("revision", [{"branch": "nothing"}, {"tag": "v9"}, {"commit": "0" * 40}])
async def test_a_revision_that_is_not_there_is_denied(world, git, revision):
    with pytest.raises(Denied) as refused:
        await world.sources().fetch(git(**revision), "acme")
    assert refused.value.reason == "NotFound"


async def test_a_repository_that_is_not_there_is_denied(world, server, git):
    with pytest.raises(Denied, match="/git/nothing is not there") as refused:
        await world.sources().fetch(git(f"{server.url}/git/nothing"), "acme")
    assert refused.value.reason == "NotFound"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://-oProxyCommand=x/y", "InvalidSource"),
        ("ssh://-oProxyCommand=x/y", "InvalidSource"),
        ("https://u:sesame@example.org/x", "InvalidSource"),
        ("http://example.org/x", "AddressRefused"),
        ("oci://example.org/x", "InvalidSource"),
        ("https://169.254.169.254/x", "AddressRefused"),
        ("https://10.0.0.1/x", "AddressRefused"),
        ("ssh://git@localhost/x", "InvalidCredentials"),
    ],
)
async def test_what_is_no_repository_or_may_not_be_reached_is_refused(world, url, reason):
    with pytest.raises(Denied) as refused:
        await world.sources(reach=INSIDE).fetch(spec(git={"url": url}), "acme")
    assert refused.value.reason == reason
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("branch", ["--upload-pack=x", "a:b", "a b", "a..b", "*", "a~1", "a^", "@{0}", "a\nb"])
async def test_what_is_no_name_of_a_branch_reaches_no_command(world, git, branch):
    with pytest.raises(Denied, match="is no name of a branch or tag"):
        await world.sources().fetch(git(branch=branch), "acme")


async def test_a_redirect_is_not_followed(world, server, git):
    async def leave(request):
        return web.Response(
            status=301, headers={"Location": f"{server.url}/git/addons/info/refs?service=git-upload-pack"}
        )

    server.handlers["/git/moved/info/refs"] = leave
    with pytest.raises((Denied, TryLater), match="/git/moved"):
        await world.sources().fetch(git(f"{server.url}/git/moved"), "acme")
    assert not server.asked["/git/addons/info/refs"]


def running() -> list[bytes]:
    """The command lines of all processes."""
    return [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]


async def test_a_server_that_hangs_is_given_up_and_no_process_stays(world, server, git):
    async def hang(request):
        await asyncio.Event().wait()

    server.handlers["/git/slow/info/refs"] = hang
    with pytest.raises(TryLater, match="/git/slow cannot be fetched: git takes more than"):
        await world.sources(patience=0.2).fetch(git(f"{server.url}/git/slow"), "acme")
    assert not any(f"{server.url}/git/slow".encode() in line for line in running())


async def test_a_password_is_in_no_command_line_and_no_message(world, server, git, monkeypatch):
    async def guarded(request):
        shown.append(request.headers.get("Authorization"))
        return web.Response(status=401, headers={"WWW-Authenticate": "Basic"})

    shown = []
    server.handlers["/git/guarded/info/refs"] = guarded
    await world.secret("key", token="sesame")  # noqa: S106 - of a test
    source = spec(git={"url": f"{server.url}/git/guarded"}, credentials={"name": "key"})
    commands = []
    start = asyncio.create_subprocess_exec

    async def seen(*words, **more):
        commands.append(words)
        return await start(*words, **more)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", seen)
    with pytest.raises(Denied, match="cannot be read with these credentials") as refused:
        await world.sources().fetch(source, "acme")
    assert shown[-1] == "Basic eC1hY2Nlc3MtdG9rZW46c2VzYW1l"
    assert not any(secret in str((commands, refused.value)) for secret in ("sesame", shown[-1]))


async def test_a_machine_without_git_says_so(world, git):
    with pytest.raises(Denied, match="there is no program git here") as refused:
        await world.sources(git="/nowhere/git").fetch(git(), "acme")
    assert refused.value.reason == "Unsupported"


async def test_a_git_that_is_too_old_to_be_held_to_an_address_is_not_used(world, git, tmp_path):
    (tmp_path / "git").write_text("#!/bin/sh\necho git version 2.34.1\n")
    (tmp_path / "git").chmod(0o755)
    with pytest.raises(Denied, match=r"git 2.37 or newer is needed, not git version 2.34.1$"):
        await world.sources(git=str(tmp_path / "git")).fetch(git(), "acme")


async def test_a_name_that_leads_to_a_private_address_is_refused(world, resolving):
    with pytest.raises(Denied, match=r"https://rebind.example.org/x may not be read: 10.0.0.1 is of a private network"):
        await world.sources(reach=INSIDE).fetch(spec(git={"url": "https://rebind.example.org/x"}), "acme")


async def test_ssh_connects_to_the_address_that_was_checked_with_the_hosts_key(
    world, repository, tmp_path, monkeypatch
):
    folder = tmp_path / "bin"
    folder.mkdir()
    lines = (
        "#!/bin/sh",
        f'printf "%s\\n" "$@" > {tmp_path}/words',
        f'cat "$HOME"/identity "$HOME"/known_hosts > {tmp_path}/files',
        f"exec git upload-pack {repository.folder}",
    )
    (folder / "ssh").write_text("\n".join(lines))
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    await world.secret("key", identity="PRIVATE", known_hosts="host key")
    source = spec(git={"url": "ssh://git@localhost:2222/x", "branch": "main"}, credentials={"name": "key"})
    found = await world.sources(reach=INSIDE).fetch(source, "acme")
    assert found.path.joinpath("base/one.yaml").is_file()
    words = (tmp_path / "words").read_text()
    address = socket.getaddrinfo("localhost", 2222, type=socket.SOCK_STREAM)[0][4][0]
    for word in (f"HostName={address}", "HostKeyAlias=[localhost]:2222", "StrictHostKeyChecking=yes", "BatchMode=yes"):
        assert word in words
    assert (tmp_path / "files").read_text() == "PRIVATE\nhost key\n"
    assert not list(world.folder.glob("*/partial/*"))
