"""A folder of a Git repository: one commit, without history, hooks, submodules and local protocols."""

import errno
import re
from pathlib import Path
from urllib.parse import urlsplit

from events.errors import Denied, TryLater
from schemas.crds.sources import GitSource
from services.addons.programs import ProgramBounds, ProgramOverrun, ProgramResult, find_program, run_program
from services.addons.sources.git_options import Prepared, prepared
from services.addons.sources.http import AGAIN, LOCAL, shown
from services.addons.sources.request import FetchFolders, SourceRequest, unpacked

_REF = re.compile(r"(?!.*(\.\.|//|@\{|\.lock(/|$)|/$|\.$))[^\x00-\x20\x7f~^:?*\[\\/.-][^\x00-\x20\x7f~^:?*\[\\]*")
"""What may be the name of a branch or tag, by ``git check-ref-format``."""
OLDEST = (2, 37)
REFUSALS = (
    (("Authentication failed", "could not read Username", "Permission denied", "error: 403"), "Unauthorized"),
    (("Host key verification failed",), "Unauthorized"),
    (("not our ref", "couldn't find remote ref", "Repository not found", "does not appear to be a git"), "NotFound"),
    (("not found",), "NotFound"),
    (("unable to update url base from redirection",), "AddressRefused"),
    (("File too large", "signal 25", "index-pack failed", "invalid index-pack output", "pack exceeds"), "TooLarge"),
)  # fmt: skip
"""What git says that will not pass, and the reason; the first that fits."""
SENTENCES = {
    "Unauthorized": "cannot be read with these credentials",
    "NotFound": "is not there, or has no such branch, tag or commit",
    "AddressRefused": "leads to another address: name that one",
    "TooLarge": "is larger than may be fetched",
}


async def pull_git(request: SourceRequest, known: str, folders: FetchFolders) -> str:
    """Fetch the commit that a branch or tag names now."""
    source = request.source.git
    if source is None:
        raise TypeError
    _refuse(source.url)
    if find_program(request.settings.git) is None:
        raise Denied("Git repositories cannot be fetched: there is no program git here", "Unsupported")
    await _refuse_old(request, folders.scratch)
    run = await prepared(request, source.url, folders.scratch)
    repository = GitRepository(run, source.url, folders.scratch, request)
    name, ref = _ref(source)
    if known and known.rpartition(":")[2] == source.commit:
        return known
    commit = source.commit or await repository.newest(ref)
    if (revision := _revision(name, commit)) == known:
        return revision
    revision = _revision(name, await repository.fetch(source.commit or ref))
    await repository.archive(folders.scratch / "archive.tar")
    await unpacked(request, folders.scratch / "archive.tar", folders, "", shown(source.url))
    return revision


async def _refuse_old(request: SourceRequest, folder: Path) -> None:
    """Raises Denied for a git that ignores the one address it may connect to."""
    result = await run_program((request.settings.git, "version"), folder, ProgramBounds(10.0, output=1 << 10))
    numbers = re.search(rb"(\d+)\.(\d+)", result.output)
    if not numbers or tuple(map(int, numbers.groups())) < OLDEST:
        said = result.output.decode(errors="replace").strip()
        raise Denied(f"Git repositories cannot be fetched: git 2.37 or newer is needed, not {said:.80}", "Unsupported")


def _refuse(url: str) -> None:
    parts = urlsplit(url)
    good = parts.scheme in ("https", "ssh") or (parts.scheme == "http" and parts.hostname)
    if not good or not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9a-f:]+", parts.hostname or ""):
        raise Denied(f"{shown(url)} is no repository such as https://host/path or ssh://git@host/path", "InvalidSource")
    if parts.password or (parts.username and parts.scheme != "ssh"):
        raise Denied(f"{shown(url)} holds a name and password: credentials are a Secret", "InvalidSource")
    if parts.scheme == "http" and parts.hostname not in LOCAL:
        raise Denied(f"{shown(url)} is not encrypted: use https:// or ssh://", "AddressRefused")


def _ref(source: GitSource) -> tuple[str, str]:
    """How a revision is called, and the name that the server knows it by."""
    name = source.branch or source.tag
    if name is not None and not _REF.fullmatch(name):
        raise Denied(f"{name!r:.100} is no name of a branch or tag", "InvalidSource")
    if source.commit:
        return "", source.commit
    return name or "HEAD", f"refs/heads/{name}" if source.branch else f"refs/tags/{name}" if name else "HEAD"


def _revision(name: str, commit: str) -> str:
    kind = "sha1" if len(commit) == 40 else "sha256"
    return f"{name}@{kind}:{commit}" if name else f"{kind}:{commit}"


class GitRepository:
    """One repository, of which one commit is fetched into a bare one."""

    def __init__(self, prepared: Prepared, url: str, folder: Path, request: SourceRequest) -> None:
        bounds = request.settings.bounds
        self._prepared, self._url, self._folder, self._program = prepared, url, folder, request.settings.git
        self._bounds = ProgramBounds(request.settings.patience * 3, file=bounds.unpacked * 2, output=1 << 20)

    async def newest(self, ref: str) -> str:
        """The commit that the server has for a ref now. Raises TryLater, Denied."""
        said = await self._git("ls-remote", "--", self._url, ref, f"{ref}^{{}}")
        found = {name: commit for line in said.splitlines() for commit, _, name in [line.partition("\t")]}
        commit = found.get(f"{ref}^{{}}") or found.get(ref)
        if not commit or not re.fullmatch("[0-9a-f]{40,64}", commit):
            raise Denied(f"{shown(self._url)} has no {ref.removeprefix('refs/')}", "NotFound")
        return commit

    async def fetch(self, wanted: str) -> str:
        """Fetch one commit without what was before it. Returns its hash. Raises TryLater, Denied, OSError."""
        await self._git("init", "--quiet", "--bare", "--template=", "repository")
        (self._folder / "repository" / "info").mkdir()
        (self._folder / "repository" / "info" / "attributes").write_text(
            "* -export-ignore -export-subst -text -filter\n"
        )
        words = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-commit-graph")
        await self._git("--git-dir=repository", "fetch", *words, "--", self._url, f"{wanted}:refs/alate/fetched")
        return (await self._git("--git-dir=repository", "rev-parse", "refs/alate/fetched^{commit}")).strip()

    async def archive(self, file: Path) -> None:
        """Write all files of the commit into a tar archive. Raises TryLater, Denied, OSError."""
        await self._git("--git-dir=repository", "archive", "--format=tar", f"--output={file}", "refs/alate/fetched")

    async def _git(self, *words: str) -> str:
        command = (self._program, *self._prepared.options, *words)
        try:
            result = await run_program(command, self._folder, self._bounds, self._prepared.env)
        except ProgramOverrun as overrun:
            raise TryLater(f"{shown(self._url)} cannot be fetched: git {overrun}", AGAIN) from overrun
        if result.code:
            raise self._fault(result)
        return result.output.decode(errors="replace")

    def _fault(self, result: ProgramResult) -> Denied | TryLater | OSError:
        """What git's mistake means; of what it says only its own last line is passed on."""
        if "No space left on device" in result.said or "quota exceeded" in result.said:
            return OSError(errno.ENOSPC, "No space left on device")
        for signs, reason in REFUSALS:
            if any(sign in result.said for sign in signs):
                return Denied(f"{shown(self._url)} {SENTENCES[reason]}", reason)
        own = [line for line in result.said.splitlines() if line.startswith(("fatal:", "error:", "ssh:"))]
        why = own[0].partition(": ")[2] if own else f"git ended with {result.code}"
        return TryLater(f"{shown(self._url)} cannot be fetched: {why:.200}", AGAIN)
