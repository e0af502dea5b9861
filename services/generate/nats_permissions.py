"""`python -m services.generate.nats_permissions` writes the permissions of nats-server from the roles."""

import argparse
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from events.jetstream.accounts import Keys, accounts
from events.jetstream.permissions import Role
from schemas.generate import folder
from services.roles import ROLES, SANDBOX, tenant

ROOT = Path(__file__).parents[2]
PRODUCTION, LAPTOP = "deploy/nats/accounts.conf", "services/local/accounts.conf"
HEAD = "# Generated from services/roles.py by `python -m services.generate.nats_permissions` (`make generate`).\n"
KEYS = "# Each $ALATE_NKEY_… is the public NKey of a role: a variable of the configuration or of the environment.\n"


def variables(role: Role) -> tuple[str]:
    """Where a role's public key comes from."""
    return ("$ALATE_NKEY_" + re.sub(r"\W", "_", role.name.upper()),)


def variables_while(rotated: Collection[str]) -> Keys:
    """The same, and for the roles of these names a second one, as good as the first, whose place it takes."""

    def both(role: Role) -> tuple[str, ...]:
        (own,) = variables(role)
        return (own, f"{own}_NEXT") if role.name in rotated else (own,)

    return both


def files() -> dict[str, str]:
    """Both files, by path: production's, and the local stack's, which has a sandbox."""
    head = HEAD + KEYS
    return {
        PRODUCTION: head + accounts(ROLES, variables),
        LAPTOP: head + accounts((*ROLES, SANDBOX), variables),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; with ``--check`` name each one that differs, and give 1 if any does.

    With ``--tenant`` or ``--rotate`` print production's with those tenants, and two keys for those roles, instead.
    """
    parser = argparse.ArgumentParser(prog="python -m services.generate.nats_permissions", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file would change")
    parser.add_argument("--tenant", action="append", default=[], help="print production's with this tenant, too")
    parser.add_argument("--rotate", action="append", default=[], help="print production's with two keys for this role")
    asked = parser.parse_args(arguments)
    roles = (*ROLES, *map(tenant, asked.tenant))
    if unknown := set(asked.rotate) - {role.name for role in roles}:
        known = ", ".join(role.name for role in roles)
        parser.error(f"--rotate {min(unknown)}: there is no such role, must be one of {known}")
    if asked.tenant or asked.rotate:
        sys.stdout.write(HEAD + KEYS + accounts(roles, variables_while(asked.rotate)))
        return 0
    return folder.command(ROOT, files(), "services/roles.py", check=asked.check)


if __name__ == "__main__":
    sys.exit(main())
