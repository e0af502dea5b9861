"""NKeys of the local stack, one per role, made at the first start."""

import re
from collections.abc import Mapping
from pathlib import Path

from events.jetstream.accounts import new_seed, public_key
from events.jetstream.credentials import seed
from services.process.secret_file import write_private

ACCOUNTS = Path(__file__).with_name("accounts.conf")
"""Who may what; `python -m services.generate.nats_permissions` writes it."""
_VARIABLE = re.compile(r"\$ALATE_NKEY_([A-Z0-9_]+)")


def file(folder: Path, role: str) -> Path:
    """Where a role's seed is kept."""
    return folder / f"{role}.nk"


def keys(folder: Path, roles: tuple[str, ...]) -> Mapping[str, str]:
    """Every role's public key; those that are not there are made. Raises Denied("BadCredentials")."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for role in roles:
        if not file(folder, role).exists():
            write_private(file(folder, role), new_seed().encode())
    return {role: public_key(seed(file(folder, role))) for role in roles}


def known(folder: Path) -> str:
    """The configuration of nats-server for every role of the local stack."""
    text = ACCOUNTS.read_text()
    names = sorted(set(_VARIABLE.findall(text)))
    public_keys = keys(folder, tuple(map(str.lower, names)))
    return "".join(f'ALATE_NKEY_{name}: "{public_keys[name.lower()]}"\n' for name in names) + text
