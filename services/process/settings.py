"""All settings, as one frozen model read from the environment."""

import re
import sys
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, FilePath, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from events.http.addresses import PLACES, PRIVATE, ranges
from events.jetstream.credentials import API, NkeyCredentials, trusting, without_secrets
from events.kube.kubeconfig import INSECURE, PROXY
from services.clouds.port import backend_types

PREFIX = "ALATE_"
NONE = "none"
"""What allows nothing."""

_ADDRESS = re.compile(r"(?P<host>[^:\s]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")
_NATS = re.compile(r"(nats|tls|ws|wss)://\S+")


class BadSetting(ValueError):
    """A variable holds what it must not; the message is one sentence: which, what, and what would be right."""


def _nats(urls: str) -> str:
    if not all(_NATS.fullmatch(url.strip()) for url in urls.split(",")):
        raise ValueError("expected nats://HOST:PORT, or several with commas between")
    return urls


def _address(address: str) -> str:
    match = _ADDRESS.fullmatch(address)
    if not match or int(match["port"]) > 65535:
        raise ValueError("expected HOST:PORT, with port 0 for a free one")
    return address


def _endpoint(endpoint: str) -> str:
    if endpoint and not re.fullmatch(r"https?://\S+", endpoint):
        raise ValueError("expected the base URL of an OTLP/HTTP receiver, e.g. http://127.0.0.1:4318")
    return endpoint


def _allows(words: str) -> str:
    wrong = sorted(allowed(words) - {*PLACES, PROXY, INSECURE})
    if wrong:
        raise ValueError(f"expected none, or some of {', '.join((*PLACES, PROXY, INSECURE))}, with commas between")
    return words


Allows = Annotated[str, AfterValidator(_allows)]


def allowed(words: str) -> frozenset[str]:
    """The parts of a setting that are allowed."""
    return frozenset(filter(None, map(str.strip, words.split(",")))) - {NONE}


def _ranges(words: str) -> str:
    ranges(words)
    return words


def _backend(name: str) -> str:
    if name not in backend_types():
        raise ValueError(f"expected one of {', '.join(sorted(backend_types()))}")
    return name


def _format() -> Literal["console", "json"]:
    return "console" if sys.stderr.isatty() else "json"


class Settings(BaseSettings):
    """Read from ``ALATE_*`` once, at the start of a process; never changes while it runs."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, env_ignore_empty=True)

    nats_url: Annotated[str, AfterValidator(_nats)] = Field(
        "nats://127.0.0.1:4222",
        description="Where the bus is: URLs with commas between. A wrong one: no service becomes ready, all retry.",
    )
    nats_nkey: FilePath | None = Field(
        None,
        description="File of the NKey seed to show to NATS, for its owner alone to read. Empty: nothing is shown, and "
        "the streams are made by whoever comes first; otherwise `python -m services setup` makes them.",
    )
    nats_creds: FilePath | None = Field(
        None,
        description="File of a user's JWT and seed, for a NATS in operator mode, in place of an NKey. One that is not "
        "known there: no service starts.",
    )
    nats_ca: FilePath | None = Field(
        None,
        description="PEM file of the authorities a NATS over TLS is trusted by. Empty: the system's. Use tls:// in the "
        "URL: with nats:// a server that offers no TLS is spoken to in the clear.",
    )
    nats_inbox: str | None = Field(
        None,
        description="What the inbox begins with, where the key allows one of another name only. Empty: _INBOX_ and the "
        "name of who connects.",
    )
    nats_api: str = Field(
        API,
        description="Where JetStream listens to this key: JS.API for those with an account of their own (readers).",
    )
    nats_replicas: Literal[0, 1, 3, 5] = Field(
        0,
        description="How many servers of a NATS cluster store each stream, for `python -m services setup`, which moves "
        "those that are there. 0: as they are. More than there are servers: refused.",
    )
    member: str = Field(
        "",
        max_length=253,
        description="Name of this replica among the running ones of its service, as its Pod's name. Empty: one of its "
        "own at each start. Two that run under one name do each other's work.",
    )
    kubeconfig: str | None = Field(
        None,
        description="Path of the management cluster's kubeconfig (several with `:`). Empty: KUBECONFIG, "
        "~/.kube/config, then the pod's service account. A wrong one ends the process with a sentence.",
    )
    context: str | None = Field(
        None,
        description="Context in the kubeconfig. Empty: its current one. A wrong one could found clusters elsewhere.",
    )
    log_format: Literal["console", "json"] = Field(
        default_factory=_format,
        description="`console` for people, `json` (a line each) for machines. Empty: console on a terminal.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        description="The least that is logged. `debug` logs every message and costs throughput.",
    )
    state_dir: Path = Field(
        Path(".alate"),
        description="Folder of the local stack's data. Another one is another, empty stack. Production keeps nothing "
        "there.",
    )
    health_address: Annotated[str, AfterValidator(_address)] = Field(
        "127.0.0.1:0",
        description="HOST:PORT of /healthz, /readyz and /metrics; port 0 takes a free one and logs it. A fixed port "
        "serves one process per host only.",
    )
    prometheus: bool = Field(
        default=True,
        description="Serve /metrics on the health address; the first scrape loads 20 MB of exporter.",
    )
    otlp_endpoint: Annotated[str, AfterValidator(_endpoint)] = Field(
        "",
        description="Base URL of an OTLP/HTTP receiver for traces and metrics. Empty: nothing is exported. A wrong one "
        "loses telemetry, never events.",
    )
    trace_sample_ratio: float = Field(
        0.01,
        ge=0,
        le=1,
        description="Share (0 to 1) of the flows that begin here whose spans are exported. 1 halves throughput.",
    )
    retention_days: float = Field(
        7.0,
        gt=0,
        description="Days the history of an entity is kept once it is terminal. Too short: the audit trail is gone "
        "before somebody asks; too long: the stream grows.",
    )
    catalog: str = Field(
        "",
        description="Price catalogs, with commas between: folders, files (SkyPilot's CSV; own nodes in YAML), URLs; "
        "`aws=` before one says whose it is. Empty: nothing is bought; `alate up` reads the sample that is shipped "
        "where it simulates the clouds. An old one founds on old prices.",
    )
    control_planes: dict[str, float] = Field(
        {"aws": 0.1, "azure": 0.1, "gcp": 0.1},
        description="USD per hour of a cluster's control plane by cloud, as JSON. The default is what EKS, AKS "
        "(standard tier) and GKE ask for one (their price pages, 2026); machines of a template's own may cost more. "
        "Too low: bills are told too low.",
    )
    catalog_hours: float = Field(
        6.0,
        gt=0,
        description="Hours between two readings of the catalogs; a file that has changed is read at once. Too long: "
        "bought at prices of yesterday; too short: the servers of the URLs may refuse us.",
    )
    capacity_half_life_minutes: float = Field(
        30.0,
        gt=0,
        description="Minutes after which what a cloud refused counts half. Too short: asked again and again where "
        "there is no room; too long: a cheap offer is passed over although there is room again.",
    )
    cost_seconds: float = Field(
        60.0,
        gt=0,
        description="Seconds after which what a running Colony has cost is brought up to date in its status, ten "
        "Colonies a second at the most. Too short: the API server is busy storing statuses; too long: they are old.",
    )
    label_nodes: bool = Field(
        default=False,
        description="Label the nodes of founded clusters with their accelerators (alate.dev/accelerator…), so that "
        "pods can choose by one name everywhere. Switched off again, the labels are taken off; others' never change.",
    )
    backend: Annotated[str, AfterValidator(_backend)] = Field(
        "capi",
        description="What founds a cluster whose Colony does not say: `capi` (Cluster API) or `k0rdent`. One that is "
        "not installed in the management cluster stalls every such Colony.",
    )
    edge_address: Annotated[str, AfterValidator(_address)] = Field(
        "127.0.0.1:0",
        description="HOST:PORT where the edge takes webhooks; port 0 takes a free one and logs it. TLS is the business "
        "of what stands before it.",
    )
    edge_secrets: Path | None = Field(
        None,
        description="Folder of webhook endpoints: a file `<provider>.<tenant>.<name>` each, a secret per line, all of "
        "them good; a mounted Kubernetes Secret is such a folder. Read anew when it changes. Empty: no endpoints.",
    )
    edge_rate: float = Field(
        50.0,
        gt=0,
        description="Verified deliveries a second that one endpoint takes on average, four seconds' worth at once. "
        "Too low: senders are told to wait; too high: one sender can fill the bus.",
    )

    triggers: Path | None = Field(
        None,
        description="File of Triggers, or folder of such (*.yaml), that the edge follows besides those of the "
        "management cluster; read anew when it changes. A damaged one: followed as it was before, and told in the log.",
    )
    outbound_targets: Path | None = Field(
        None,
        description="File of those outside who are told what becomes of clusters: see deploy/outbound.yaml. Read anew "
        "when it changes. Empty: nobody is told; one that cannot be read: the service does not start.",
    )
    outbound_secrets: Path | None = Field(
        None,
        description="Folder of the targets' secrets: a file by the name of each. For webhooks a secret per line, all "
        "of them signed with; for a forge its token. A target without one is told once it has one, for about a day.",
    )
    clusters_allow: Allows = Field(
        PRIVATE,
        description="Where kubeconfigs of founded and lent clusters may lead beside the Internet, with commas between: "
        "private (networks), loopback, link-local, internal (the cluster alate runs in); and how: proxy, insecure-tls; "
        "or none. Those Secrets are tenants': more lets them have alate speak to what only it reaches.",
    )
    catalog_allow: Allows = Field(
        PRIVATE,
        description="Where URLs of catalogs may lead beside the Internet: as above, less the last two. No redirect is "
        "followed. Names are looked up and checked at each connection.",
    )
    outbound_allow: Allows = Field(
        PRIVATE,
        description="The same for the targets of the outbound service, which sends events and tokens there.",
    )
    sources_allow: Allows = Field(
        PRIVATE,
        description="The same for the sources of add-ons: chart repositories, registries, Git servers and URLs.",
    )
    own_ranges: Annotated[str, AfterValidator(_ranges)] = Field(
        "",
        description="The ranges of the Services and pods of the cluster alate runs in, as CIDR, with commas between: "
        "what is internal. Without them only its API server and names under .svc are known to be.",
    )
    edge_open: bool = Field(
        default=False,
        description="Let everybody who reaches the edge by its address look at the page; whoever changes something "
        "signs in. Otherwise an operator's token is needed to look as well. `alate up` lets you look.",
    )

    def credentials(self) -> NkeyCredentials:
        """What is shown to NATS. Raises Denied("BadCredentials")."""
        return NkeyCredentials(
            nkey=self.nats_nkey,
            creds=self.nats_creds,
            tls=trusting(self.nats_ca),
            inbox=self.nats_inbox,
            api=self.nats_api,
        )


def load() -> Settings:
    """The settings of this process; `BadSetting` names the first variable that is wrong."""
    try:
        return Settings()
    except ValidationError as error:
        raise BadSetting(_sentence(error)) from error


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    said = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    shown = without_secrets(repr(first["input"]))
    return f"{PREFIX}{str(first['loc'][0]).upper()} is {shown}: {said[0].lower()}{said[1:]}"
