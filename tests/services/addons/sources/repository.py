"""A Git repository, and git's own HTTP server on the test's."""

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

WHEN = "2026-01-01T00:00:00Z"
IDENTITY = {
    "GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test@example.org", "GIT_AUTHOR_DATE": WHEN,
    "GIT_COMMITTER_NAME": "test", "GIT_COMMITTER_EMAIL": "test@example.org", "GIT_COMMITTER_DATE": WHEN,
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
}  # fmt: skip


class Repository:
    """One repository on the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        command = ["git", *words]
        return subprocess.run(
            command, cwd=self.folder, env=IDENTITY, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, files: Mapping[str, str | bytes], *, link: Mapping[str, str] | None = None) -> str:
        """Write files and commit them. Returns the commit."""
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        for name, target in (link or {}).items():
            (self.folder / name).symlink_to(target)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "HEAD")


def serve(server, root: Path) -> None:
    """Let git's own server answer below /git/."""

    async def answer(request: web.Request) -> web.StreamResponse:
        server.asked[request.path] += 1
        server.headers.append((request.path, dict(request.headers)))
        if (handler := server.handlers.get(request.path)) is not None:
            return await handler(request)
        said = {
            "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": request.method,
            "PATH_INFO": request.path.removeprefix("/git"), "QUERY_STRING": request.query_string,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        }  # fmt: skip
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", env=IDENTITY | said, stdin=pipe, stdout=pipe
        )
        output, _ = await process.communicate(await request.content.read())
        head, _, body = output.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        return web.Response(status=int(headers.pop("Status", "200")[:3]), headers=headers, body=body)

    server.serve = answer
