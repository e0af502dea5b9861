"""A Helm chart of a repository: of an HTTP server with an index, or of an OCI registry."""

import asyncio
from urllib.parse import urljoin, urlsplit

from events.errors import Denied
from schemas.crds.sources import ChartSource
from schemas.documents import InvalidYaml
from services.addons.sources.chart_index import LARGEST, ChartEntry, find_chart
from services.addons.sources.http import HttpClient, shown
from services.addons.sources.oci import image_name, pull_image
from services.addons.sources.registry import Registry
from services.addons.sources.request import FetchFolders, SourceRequest, check_digest, unpacked
from services.addons.sources.versions import InvalidRange, exact, newest

SHOWN = 5
"""How many of the versions that are there a message names."""


async def pull_chart(request: SourceRequest, known: str, folders: FetchFolders) -> str:
    """Download the newest version that fits."""
    chart = request.source.chart
    if chart is None:
        raise TypeError
    if urlsplit(chart.repository).scheme == "oci":
        revision = await _of_registry(request, chart, known, folders)
    else:
        revision = await _of_server(request, chart, known, folders)
    if revision != known and not await asyncio.to_thread(_is_chart, folders):
        raise Denied(f"{chart.name} {revision} of {shown(chart.repository)} holds no Chart.yaml", "InvalidChart")
    return revision


def _is_chart(folders: FetchFolders) -> bool:
    return any(folders.tree.glob("Chart.yaml")) or any(folders.tree.glob("*/Chart.yaml"))


async def _of_server(request: SourceRequest, chart: ChartSource, known: str, folders: FetchFolders) -> str:
    base = chart.repository.rstrip("/") + "/"
    async with request.http(await request.credentials(base)) as http:
        entry = await _look_up(http, base, chart)
        if f"{entry.version}@sha256:{entry.digest}" == known:
            return known
        url = urljoin(base, entry.url)
        if urlsplit(url).scheme == "oci":
            return await pull_image(request, image_name(url), known, folders)
        file = folders.scratch / "download"
        own = urlsplit(url)[:2] == urlsplit(base)[:2]
        digest = await http.save(url, file, request.settings.bounds.downloaded, None if own else {})
    check_digest(shown(url), digest, request.source.sha256)
    check_digest(f"{shown(url)}, by the repository's index,", digest, entry.digest or None)
    if (revision := f"{entry.version}@sha256:{digest}") != known:
        await unpacked(request, file, folders, chart.name, shown(url))
    return revision


async def _look_up(http: HttpClient, base: str, chart: ChartSource) -> ChartEntry:
    url = urljoin(base, "index.yaml")
    answer = await http.get(url, LARGEST)
    try:
        text = answer.body.decode()
        found, versions = await asyncio.to_thread(find_chart, text, chart.name, chart.version)
    except InvalidRange as wrong:
        raise Denied(str(wrong), "InvalidSource") from wrong
    except (InvalidYaml, UnicodeDecodeError) as wrong:
        raise Denied(f"{shown(url)} is no index of a chart repository: {wrong}", "InvalidIndex") from wrong
    if found is None:
        raise _missing(chart, base, versions)
    return found


def _missing(chart: ChartSource, base: str, versions: list[str]) -> Denied:
    where = f"{shown(base)} has no chart {chart.name}"
    if not versions:
        return Denied(where, "NotFound")
    return Denied(f"{where} {chart.version}: there are {', '.join(versions[:SHOWN])}"[:500], "NotFound")


async def _of_registry(request: SourceRequest, chart: ChartSource, known: str, folders: FetchFolders) -> str:
    image = image_name(f"{chart.repository.rstrip('/')}/{chart.name}")
    if exact(chart.version):
        return await pull_image(request, image._replace(reference=_tag(chart.version)), known, folders)
    return await pull_image(request, image, known, folders, choose=lambda registry: _newest(registry, chart))


async def _newest(registry: Registry, chart: ChartSource) -> str:
    """The tag of the newest version that fits; tags write + as _."""
    tags = {tag.replace("_", "+"): tag for tag in await registry.tags()}
    try:
        found = newest(tags, chart.version)
    except InvalidRange as wrong:
        raise Denied(str(wrong), "InvalidSource") from wrong
    if found is None:
        raise _missing(chart, chart.repository, sorted(tags, reverse=True))
    return tags[found]


def _tag(version: str) -> str:
    return version.replace("+", "_")
