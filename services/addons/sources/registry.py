"""Asks an OCI registry for tags, manifests and blobs, with the token that it wants."""

import hashlib
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec

from events.errors import Denied, TryLater
from schemas.registry import UNREADABLE
from services.addons.sources.http import AGAIN, LOCAL, HttpAnswer, HttpClient, refuse, shown

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFESTS = f"{MANIFEST}, application/vnd.docker.distribution.manifest.v2+json"
LARGEST = 4 << 20
"""Bytes of a manifest or a page of tags, as the distribution specification advises."""
PAGES = 100
"""Pages of tags that are read."""
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_HOSTS = {"docker.io": "registry-1.docker.io", "index.docker.io": "registry-1.docker.io"}


class Manifest(NamedTuple):
    """A manifest, and the digest of its bytes."""

    digest: str
    """With its algorithm: ``sha256:…``."""
    content: dict[str, Any]


class Layer(msgspec.Struct, rename="camel"):
    """One of a manifest's layers."""

    digest: str
    media_type: str = ""
    annotations: dict[str, str] | None = None


def layers_of(manifest: Manifest) -> list[Layer]:
    """The layers of a manifest; none if it is of another kind."""
    try:
        return msgspec.convert(manifest.content.get("layers"), list[Layer])
    except UNREADABLE:
        return []


class Registry:
    """One repository of a registry."""

    def __init__(self, http: HttpClient, host: str, name: str) -> None:
        host = _HOSTS.get(host, host)
        scheme = "http" if urlsplit(f"//{host}").hostname in LOCAL else "https"
        self._http, self._name = http, name
        self._base = f"{scheme}://{host}/v2/{name}/"
        self._authorization = f"Bearer {http.credentials.token}" if http.credentials.token else ""

    async def tags(self) -> list[str]:
        """Every tag. Raises TryLater, Denied."""
        url, found = urljoin(self._base, "tags/list?n=1000"), list[str]()
        for _ in range(PAGES):
            answer = await self._get(url, "application/json")
            found += _decoded(url, answer.body, _Tags).tags or []
            following = re.match(r'<([^>]+)>; *rel="?next"?', answer.headers.get("Link", ""))
            if not following:
                return found
            url = urljoin(url, following[1])
            if urlsplit(url)[:2] != urlsplit(self._base)[:2]:
                raise Denied(f"{shown(self._base)} continues its tags on another server", "AddressRefused")
        raise Denied(f"{shown(self._base)} has more than {PAGES} pages of tags", "TooLarge")

    async def referrers(self, digest: str) -> list[str]:
        """The digests of what refers to a manifest, such as signatures. Raises TryLater, Denied."""
        url = urljoin(self._base, f"referrers/{digest}")
        try:
            found = _decoded(url, (await self._get(url, INDEX)).body, dict[str, Any])
        except Denied as missing:
            if missing.reason != "NotFound":
                raise
            found = await self._referrers_of_old(digest)
        listed = found.get("manifests")
        digests = [each.get("digest") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        return [each for each in digests if isinstance(each, str)]

    async def _referrers_of_old(self, digest: str) -> dict[str, Any]:
        """The same of a registry that does not keep them itself: a tag holds the list."""
        try:
            return (await self.manifest(digest.replace(":", "-"), INDEX)).content
        except Denied as missing:
            if missing.reason != "NotFound":
                raise
            return {}

    async def manifest(self, reference: str, accept: str = MANIFESTS) -> Manifest:
        """The manifest by its tag or digest. Raises TryLater, Denied."""
        url = urljoin(self._base, f"manifests/{reference}")
        answer = await self._get(url, accept)
        digest = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
        if reference.startswith("sha256:") and digest != reference:
            raise Denied(f"{shown(url)} sends a manifest with the digest {digest}", "ChecksumMismatch")
        return Manifest(digest, _decoded(url, answer.body, dict[str, Any]))

    async def blob(self, digest: str, file: Path, most: int) -> None:
        """Write a blob into a new file. Raises TryLater, Denied, OSError."""
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
            raise Denied(f"{shown(self._base)} names a layer by {digest!r:.100}, which is no sha256", "InvalidSource")
        url = urljoin(self._base, f"blobs/{digest}")
        found = await self._http.save(url, file, most, {"Authorization": self._authorization})
        if found != digest.removeprefix("sha256:"):
            raise Denied(f"{shown(url)} sends a layer with the sha256 {found}", "ChecksumMismatch")

    async def _get(self, url: str, accept: str) -> HttpAnswer:
        """With a new token where one is asked for."""
        answer = await self._http.read(url, LARGEST, {"Accept": accept, "Authorization": self._authorization})
        if answer.status == 401 and (challenge := answer.headers.get("WWW-Authenticate", "")):
            self._authorization = await self._authorize(url, challenge)
            answer = await self._http.read(url, LARGEST, {"Accept": accept, "Authorization": self._authorization})
        refuse(url, answer.status, answer.headers)
        return answer

    async def _authorize(self, url: str, challenge: str) -> str:
        """The header that the challenge asks for. Raises TryLater, Denied."""
        known, scheme = self._http.credentials, challenge.partition(" ")[0].lower()
        if scheme == "basic" and known.basic:
            return known.basic
        asked = dict(_PARAMETER.findall(challenge))
        if scheme != "bearer" or not asked.get("realm"):
            raise Denied(f"{shown(url)} answers 401: credentials are missing or wrong", "Unauthorized")
        scope = asked.get("scope") or f"repository:{self._name}:pull"
        joint = "&" if "?" in asked["realm"] else "?"
        realm = f"{asked['realm']}{joint}{urlencode({'service': asked.get('service', ''), 'scope': scope})}"
        answer = await self._http.read(realm, LARGEST, {"Authorization": known.basic})
        refuse(realm, answer.status, answer.headers)
        got = _decoded(realm, answer.body, _Token)
        return f"Bearer {got.token or got.access_token}"


class _Tags(msgspec.Struct):
    tags: list[str] | None = None


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""


def _decoded(url: str, body: bytes, what: type[Any]) -> Any:  # noqa: ANN401 - of that type
    try:
        return msgspec.json.decode(body, type=what)
    except UNREADABLE as wrong:
        raise TryLater(f"{shown(url)} answers with what is no JSON of a registry", AGAIN) from wrong
