"""Reads and checks kubeconfigs, from files and from a cluster's Secret, and writes one with a context per cluster."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from events.errors import Denied
from events.kube.port import Object
from schemas.documents import InvalidYaml, documents

ENTRIES = {"contexts": "context", "clusters": "cluster", "users": "user"}
"""The lists of a kubeconfig, and what an entry calls its content."""
PEM = ("certificate-authority", "client-certificate", "client-key")
"""What is named by file, or held inline under the same name with ``-data``."""
FILES = (*PEM, "tokenFile")
PROGRAMS = (*FILES, "exec", "auth-provider")
"""The fields of a kubeconfig that make its user read a file or run a program."""


SETTING = "ALATE_CLUSTERS_ALLOW"
PROXY, INSECURE = "proxy", "insecure-tls"
LOOSE = (
    ("proxy-url", PROXY, "a server that is reached without a proxy of its own"),
    ("insecure-skip-tls-verify", INSECURE, "the cluster's own CA in certificate-authority-data"),
)
"""Fields of a cluster that let others decide who answers, what allows each, and what would be right."""
CLUSTER_FIELDS = frozenset({"server", "certificate-authority-data", "tls-server-name", *(key for key, *_ in LOOSE)})
USER_FIELDS = frozenset({"client-certificate-data", "client-key-data", "token", "username", "password"})
LARGEST = 1 << 20
"""Bytes of a kubeconfig: what a Secret can hold."""


def bad(message: str) -> Denied:
    """The fault for whatever is wrong with a kubeconfig."""
    return Denied(message, reason="BadKubeconfig")


@dataclass(frozen=True)
class Chosen:
    """The one cluster and user that a context names, with every path absolute."""

    source: str
    cluster: Object
    user: Object

    @property
    def document(self) -> Object:
        """A kubeconfig that holds nothing else."""
        return together({"chosen": self})


def together(several: Mapping[str, Chosen]) -> Object:
    """One kubeconfig with a context of each name; the first one is current."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(several)),
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in several],
        "clusters": [{"name": name, "cluster": one.cluster} for name, one in several.items()],
        "users": [{"name": name, "user": one.user} for name, one in several.items()],
    }


def parsed(text: str, source: str) -> Object:
    """The document of a kubeconfig; `Denied` if it is none."""
    try:
        found = documents(text, LARGEST)
    except InvalidYaml as error:
        raise bad(f"{source} is not YAML ({error}): expected clusters, contexts and users") from error
    document = found[0] if len(found) == 1 else None
    if not isinstance(document, dict):
        raise bad(f"{source} holds no mapping: expected clusters, contexts and users")
    for part, content in ENTRIES.items():
        if not isinstance(document.get(part) or [], list):
            raise bad(f"{part} in {source} is no list: expected entries with a name and a {content}")
    return document


def merged(files: Iterable[Path]) -> tuple[Object, str]:
    """One document of all files that exist, and their names; as in kubectl, who says something first wins."""
    there = [file for file in files if file.is_file()]
    if not there:
        names = ", ".join(map(str, files))
        raise bad(f"kubeconfig {names}: there is no such file; name one that exists")
    read = [_absolute(parsed(_text(file), f"kubeconfig {file}"), file.parent.absolute()) for file in there]
    whole: Object = {part: [e for d in read for e in d.get(part) or ()] for part in ENTRIES}
    currents = [d["current-context"] for d in read if d.get("current-context")]
    return whole | {"current-context": next(iter(currents), None)}, f"kubeconfig {', '.join(map(str, there))}"


def chosen(document: Object, source: str, context: str | None = None) -> Chosen:
    """The cluster and user of the context (or the current one); `Denied` names what is missing and what exists."""
    name = context or document.get("current-context")
    if not name:
        raise bad(f"{source} names no current-context: choose one of {_names(document, 'contexts')}")
    entry = _entry(document, "contexts", name, source)
    cluster = _entry(document, "clusters", entry.get("cluster"), source)
    user = _entry(document, "users", entry["user"], source) if entry.get("user") else {}
    server = str(cluster.get("server") or "")
    if not _address(server):
        raise bad(f"server of cluster {entry['cluster']!r} in {source} is {server!r}: expected an https:// URL")
    for key in ("token", "username", "password"):
        if not _line(user.get(key)):
            raise bad(f"{key} of the user in {source} holds more than a line of ASCII: expected it without line ends")
    return Chosen(source, cluster, user)


def _address(server: str) -> bool:
    try:
        url = urlsplit(server)
        return url.scheme in {"https", "http"} and bool(url.hostname) and url.port != 0 and _line(server)
    except ValueError:  # a port or an address that is none
        return False


def _line(text: object) -> bool:
    """Whether it can be the value of an HTTP header; True for what is no text."""
    return not isinstance(text, str) or (text.isascii() and text.strip().isprintable())


def sealed(choice: Chosen) -> Chosen:
    """The same, if it holds data only; `Denied` if using it would read our files or run a program."""
    for key in PROGRAMS:
        if key in choice.cluster or key in choice.user:
            raise bad(f"{choice.source} asks for {key}: out of a Secret only inline data and tokens are taken")
    return choice


def reduced(choice: Chosen) -> Chosen:
    """The same, without any field but those that say where the server is, how to trust it, and who asks."""
    cluster = {key: value for key, value in choice.cluster.items() if key in CLUSTER_FIELDS}
    return Chosen(choice.source, cluster, {key: value for key, value in choice.user.items() if key in USER_FIELDS})


def confined(choice: Chosen, allowed: frozenset[str]) -> Chosen:
    """The same, if it is as sure of its server as it must be, by what is `allowed`. Raises Denied."""
    for key, name, instead in LOOSE:
        if choice.cluster.get(key) and name not in allowed:
            raise bad(f"{choice.source} asks for {key}: expected {instead}, or {name} allowed in {SETTING}")
    return choice


def unfolded(choice: Chosen, folder: Path) -> Chosen:
    """The same with inline PEM written to files in `folder`, each file checked to be there."""
    return Chosen(
        choice.source,
        _unfold(choice.cluster, choice.source, folder),
        _unfold(choice.user, choice.source, folder),
    )


def _unfold(content: Object, source: str, folder: Path) -> Object:
    files = {key: _pem(content, key, source, folder) for key in PEM if f"{key}-data" in content}
    rest = {key: value for key, value in content.items() if key.removesuffix("-data") not in files}
    for key in FILES:
        if key in rest and not Path(str(rest[key])).is_file():
            raise bad(f"{key} in {source} is {rest[key]}, and there is no such file: name one that exists")
    return rest | files


def _pem(content: Object, key: str, source: str, folder: Path) -> str:
    file = folder / key
    file.write_bytes(_decoded(content, key, source))
    return str(file)


def authority(choice: Chosen) -> str:
    """The CA that stands in the kubeconfig itself, as PEM; empty if none does."""
    key = "certificate-authority"
    pem = _decoded(choice.cluster, key, choice.source) if f"{key}-data" in choice.cluster else b""
    try:
        return pem.decode("ascii")
    except UnicodeDecodeError as error:
        raise bad(f"{key}-data in {choice.source} is no PEM file's content") from error


def _decoded(content: Object, key: str, source: str) -> bytes:
    try:
        return base64.b64decode(content[f"{key}-data"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise bad(f"{key}-data in {source} is not base64: expected a PEM file's content, encoded") from error


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise bad(f"kubeconfig {file} cannot be read ({error}): expected a text file of ours") from error


def _absolute(document: Object, folder: Path) -> Object:
    """Paths in a kubeconfig are relative to its own folder."""
    for part, content in ENTRIES.items():
        for entry in document.get(part) or ():
            inner = entry.get(content) if isinstance(entry, dict) else None
            if isinstance(inner, dict):
                inner |= {key: str(folder / str(inner[key])) for key in FILES if inner.get(key)}
    return document


def _entry(document: Object, part: str, name: object, source: str) -> Object:
    for entry in document.get(part) or ():
        if isinstance(entry, dict) and entry.get("name") == name:
            content = entry.get(ENTRIES[part])
            return dict(content) if isinstance(content, dict) else {}
    raise bad(f"{source} has no {ENTRIES[part]} {name!r}: it has {_names(document, part)}")


def _names(document: Object, part: str) -> str:
    names = [repr(entry["name"]) for entry in document.get(part) or () if isinstance(entry, dict) and "name" in entry]
    return ", ".join(names) or "none"


DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Ten times faster than the pure Python dumper, which is used if PyYAML was built without libyaml."""


UNTYPED = "Opaque"
TYPES = (UNTYPED, "cluster.x-k8s.io/secret")
"""The types of a Secret with a cluster's kubeconfig: as people create one, and as Cluster API does."""


def context_name(colony: str, cluster: str) -> str:
    """The name of the context of a Colony's cluster."""
    return f"{colony}/{cluster}"


def kubeconfig_text(secret: Object, source: str) -> str:
    """The kubeconfig in a cluster's Secret, called `source`; empty if there is none. Raises Denied("BadKubeconfig").

    A Secret with any other type is a token, key or password of somebody, and is not read.
    """
    encoded, kind = (secret.get("data") or {}).get("value"), secret.get("type") or UNTYPED
    if kind not in TYPES:
        raise bad(f"{source} is of type {kind}: expected a kubeconfig's, which is one of {', '.join(TYPES)}")
    try:
        return base64.b64decode(encoded or "", validate=True).decode()
    except (ValueError, TypeError) as error:
        raise bad(f"{source} holds no text under the key value: expected a kubeconfig") from error


def chosen_context(secret: Object, source: str) -> Chosen | None:
    """What a cluster's Secret, called `source`, opens; None while it is empty. Raises Denied("BadKubeconfig")."""
    text = kubeconfig_text(secret, source)
    return sealed(chosen(parsed(text, source), source)) if text else None


def merged_yaml(contexts: Mapping[str, Chosen]) -> str:
    """One kubeconfig of at least one context, as YAML: the same contexts always give the same text."""
    return str(yaml.dump(together(contexts), Dumper=DUMPER, sort_keys=False))
