"""The accounts and permissions of nats-server, written from roles and their keys."""

import json
from collections.abc import Callable, Iterable, Iterator
from secrets import token_bytes

import nkeys

from events.jetstream.credentials import API
from events.jetstream.permissions import APART_API, Rights, Role, rights

HOUSE = "ALATE"
"""The account that owns the streams."""

ConfigLines = Iterator[str]


Keys = Callable[[Role], tuple[str, ...]]
"""A role's public NKeys, each quoted or a variable of the configuration; several during a rotation."""


def accounts(roles: Iterable[Role], keys: Keys) -> str:
    """The block ``accounts``."""
    everybody = tuple(roles)
    inside, outside = [[role for role in everybody if role.apart is apart] for apart in (False, True)]
    imports = {role.name: tuple(_imports(role, rights(role, everybody))) for role in outside}
    exports = {_export(kind, there) for own in imports.values() for kind, there, _ in own}
    lines = ["accounts {", f"  {HOUSE} {{", "    jetstream: enabled"]
    lines += [*_users(inside, everybody, keys), *_list("exports", sorted(exports)), "  }"]
    for role in outside:
        lines += [f"  {_account(role)} {{", *_users([role], everybody, keys)]
        lines += [*_list("imports", (_import(*one) for one in imports[role.name])), "  }"]
    return "\n".join([*lines, "}"]) + "\n"


def _account(role: Role) -> str:
    return json.dumps(f"{HOUSE}-{role.name}")


def _users(roles: Iterable[Role], everybody: Iterable[Role], keys: Keys) -> ConfigLines:
    yield "    users: ["
    for role in roles:
        its = rights(role, everybody)
        yield f"      # {role.name}"
        for key in keys(role):
            yield from _user(key, its)
    yield "    ]"


def _user(key: str, its: Rights) -> ConfigLines:
    yield f"      {{ nkey: {key}, permissions: {{"
    yield from _allow("publish", its.publish, its.never)
    yield from _allow("subscribe", its.listen, ())
    yield from ("        allow_responses: true",) if its.replies else ()
    yield "      } }"


def _allow(act: str, allowed: tuple[str, ...], denied: tuple[str, ...]) -> ConfigLines:
    # An empty list allows everything: what is allowed to nobody is said as a denial.
    yield f"        {act}: {{"
    yield from _strings("allow", allowed) if allowed else ()
    yield from _strings("deny", denied if allowed else (">",)) if denied or not allowed else ()
    yield "        }"


def _strings(name: str, values: Iterable[str]) -> ConfigLines:
    yield f"          {name}: ["
    yield from (f"            {json.dumps(value)}" for value in values)
    yield "          ]"


def _imports(role: Role, its: Rights) -> Iterator[tuple[str, str, str]]:
    """What an account imports from the main account: kind, subject there, subject here."""
    for here in its.publish:
        yield "service", here.replace(APART_API, API, 1) if here.startswith(APART_API) else here, here
    for here in its.listen:
        # The server's answers find their way by themselves; deliveries and verdicts do not.
        if role.told or not here.startswith(role.inbox):
            yield "stream", here, here


def _export(kind: str, there: str) -> str:
    pages = ", response_type: stream" if there.startswith(f"{API}.DIRECT.GET.") else ""  # many answers to a question
    return f"{{ {kind}: {json.dumps(there)}{pages} }}"


def _import(kind: str, there: str, here: str) -> str:
    to = f", to: {json.dumps(here)}" if here != there else ""
    return f"{{ {kind}: {{ account: {HOUSE}, subject: {json.dumps(there)} }}{to} }}"


def _list(name: str, lines: Iterable[str]) -> ConfigLines:
    some = tuple(lines)
    if some:
        yield f"    {name}: ["
        yield from (f"      {line}" for line in some)
        yield "    ]"


def new_seed() -> str:
    """The seed of a new user key."""
    seed: bytes = nkeys.encode_seed(token_bytes(32), nkeys.PREFIX_BYTE_USER)
    return seed.decode()


def public_key(seed: str) -> str:
    """The public key of a seed."""
    pair = nkeys.from_seed(bytearray(seed.encode()))
    name: bytes = pair.public_key
    pair.wipe()
    return name.decode()
