"""A YAML file or an archive by its URL."""

from pathlib import PurePosixPath
from urllib.parse import urlsplit

from events.errors import Denied
from services.addons.sources.http import shown
from services.addons.sources.request import FetchFolders, SourceRequest, check_digest, unpacked

NAMELESS = "manifests.yaml"
"""What a file is called whose URL does not say it."""


async def pull_url(request: SourceRequest, known: str, folders: FetchFolders) -> str:
    """Download it; its checksum is its revision."""
    url = str(request.source.url)
    if urlsplit(url).scheme not in ("http", "https"):
        raise Denied(f"{shown(url)} is not read as a url: write git or oci", "InvalidSource")
    file = folders.scratch / "download"
    async with request.http(await request.credentials(url)) as http:
        digest = await http.save(url, file, request.settings.bounds.downloaded)
    check_digest(shown(url), digest, request.source.sha256)
    if (revision := f"sha256:{digest}") != known:
        await unpacked(request, file, folders, _name(url), shown(url))
    return revision


def _name(url: str) -> str:
    """The file's name by the URL; one that is no manifest's is taken to be YAML."""
    name = PurePosixPath(urlsplit(url).path).name.removesuffix(".gz")
    return name if name.endswith((".yaml", ".yml", ".json", ".jsonnet")) else NAMELESS
