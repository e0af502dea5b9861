"""`alate events how` prints snippets that request a cluster, with the addresses of the running stack."""

import shlex
from pathlib import Path
from typing import NamedTuple

import msgspec

from schemas.registry import declared
from schemas.requests import ExtendRequest
from services.cli.connection import found
from services.cli.output.render import Form, TextWriter, document
from services.errors import BadInput
from services.local.folder import Absent
from services.local.keys import file
from services.queries.item import Item

SUBJECT = "cluster.requested"
TYPE = "dev.alate.cluster.request"
LIFE, LONGER = "8h", "12h"
CLUSTER = "gpu"
POOL = {"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}
PUBLISHER = "publisher"
INBOX = f"_INBOX_{PUBLISHER}"
TOOLS = ("nats", "python", "curl", "extend")


class Stack(NamedTuple):
    """What the snippets need to know of where they go."""

    nats: str
    hooks: str = ""
    """The URL below which webhooks are taken; empty: no edge is known."""
    secrets: str = ""
    """The folder of the webhook endpoints."""
    key: str = ""
    """The file of the key to show; empty: none is known, or none is needed."""


class Snippet(NamedTuple):
    """One way to say it."""

    tool: str
    title: str
    text: str

    def item(self) -> Item:
        """As JSON would have it."""
        return self._asdict()


def stack(folder: Path | None, nats: str | None) -> Stack:
    """The running one. Raises Absent."""
    if nats is not None:
        return Stack(nats)
    here = found(folder)
    address, ports = here.address(), here.ports()
    edge = f"http://127.0.0.1:{ports.edge}/hooks" if ports and ports.edge else ""
    return Stack(address.nats_url, edge, str(here.hooks), str(file(here.keys, PUBLISHER)) if address.nkey else "")


def snippets(to: Stack, tenant: str, name: str) -> list[Snippet]:
    """Every way that leads to this stack."""
    cluster = {"name": CLUSTER, "pools": [POOL], "timeToLive": LIFE}
    wish = {"tenant": tenant, "name": name, "spec": {"clusters": [cluster]}}
    found = [
        Snippet("nats", "with the nats command, from a shell", _nats(to, wish)),
        Snippet("python", "with nats-py; prints what became of the request", _python(to, wish)),
    ]
    if to.hooks:
        found.append(
            Snippet("curl", "a CloudEvent by HTTP; 422 with the reason if it cannot be taken", _curl(to, tenant, wish))
        )
    found.append(Snippet("extend", "with the nats command: it shall live longer", _extend(to, tenant, name)))
    return found


def show(found: list[Snippet], tool: str | None, *, form: Form, write: TextWriter) -> None:
    """All, or one as it is to be pasted. Raises BadInput, Absent."""
    if tool is not None and tool not in TOOLS:
        raise BadInput(f"--only {tool}: must be one of {', '.join(TOOLS)}")
    chosen = [each for each in found if tool in (None, each.tool)]
    if not chosen:
        raise Absent("no edge is known that takes HTTP: `alate up` starts one")
    if form != "table":
        write(document({"items": [each.item() for each in chosen]}, form))
    elif tool is not None:
        write(chosen[0].text)
    else:
        write("\n".join(f"# {each.title}\n\n{each.text}" for each in chosen))


def _headers(name: str, kind: str = TYPE) -> dict[str, str]:
    return {"ce-specversion": "1.0", "ce-id": name, "ce-source": "/how", "ce-type": kind}


def _nats(to: Stack, wish: Item) -> str:
    return _pub(to, SUBJECT, wish, _headers(f"{wish['name']}-by-nats"))


def _extend(to: Stack, tenant: str, name: str) -> str:
    word = ExtendRequest(tenant=tenant, name=name, cluster=CLUSTER, time_to_live=LONGER)
    declaration = declared(ExtendRequest)
    headers = _headers(f"{name}-extended-{LONGER}", declaration.type)
    return _pub(to, declaration.at(tenant, name, CLUSTER), msgspec.to_builtins(word), headers)


def _pub(to: Stack, subject: str, content: Item, named: dict[str, str]) -> str:
    headers = "".join(f" -H {name}:{value}" for name, value in named.items())
    body = shlex.quote(msgspec.json.encode(content).decode())
    key = f" --nkey {shlex.quote(to.key)} --inbox-prefix {INBOX}" if to.key else ""
    return f"nats --server {to.nats}{key} pub --jetstream{headers} {subject} \\\n  {body}\n"


PYTHON = """\
import asyncio, json, nats, nats.errors


async def fail(error):
    raise error


async def main():
    nc = await nats.connect({nats!r}{key}, error_cb=fail)
    inbox = nc.new_inbox()  # what became of the request is told there
    answers = await nc.subscribe(inbox)
    wish = {wish!r}
    headers = {headers!r}
    await nc.jetstream().publish({subject!r}, json.dumps(wish).encode(), headers=headers | {{"Alate-Reply-To": inbox}})
    print((await answers.next_msg(timeout=30)).data.decode())
    await nc.close()


try:
    asyncio.run(main())
except (OSError, nats.errors.Error) as away:
    raise SystemExit({away!r} + f" ({{away or type(away).__name__}})")
"""


def _python(to: Stack, wish: Item) -> str:
    headers = _headers(f"{wish['name']}-by-python")
    key = f", nkeys_seed={to.key!r}, inbox_prefix={INBOX!r}" if to.key else ""
    away = f"no NATS takes the request at {to.nats}: is `alate up` running?"
    return PYTHON.format(away=away, nats=to.nats, key=key, wish=wish, headers=headers, subject=SUBJECT)


def _curl(to: Stack, tenant: str, wish: Item) -> str:
    endpoint, secret = f"cloudevents/{tenant}/how", f"{to.secrets}/cloudevents.{tenant}.how"
    event = {"specversion": "1.0", "id": f"{wish['name']}-by-curl", "source": "/how", "type": TYPE, "data": wish}
    return (
        f"test -e {shlex.quote(secret)} || (umask 077; openssl rand -hex 32 > {shlex.quote(secret)})\n"
        f"curl --silent --show-error --fail-with-body {to.hooks}/{endpoint} \\\n"
        f'  -H "Authorization: Bearer $(cat {shlex.quote(secret)})" \\\n'
        f"  -H 'Content-Type: application/cloudevents+json' \\\n"
        f"  -d {shlex.quote(msgspec.json.encode(event).decode())}\n"
    )
