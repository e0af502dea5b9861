"""``python -m services NAME…`` runs one or several services in this process; ``setup`` makes what they need on NATS."""

import sys
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit

import uvloop

from events.bus import Unavailable
from events.errors import Fault
from schemas.crds import InvalidResource
from services.compose import SERVICES
from services.process.settings import BadSetting, load
from services.run import SETUP, run, set_up

SANDBOX = "sandbox"
FILES = 65_536
"""Every cluster is several watches and every watch a socket; a usual soft limit (1024, or 256) is for a few hundred."""


def main(names: tuple[str, ...]) -> int:
    """Exit code 0 after a clean stop, 1 if something is not there, 2 for bad input; one sentence on stderr."""
    known = (*SERVICES, SANDBOX, SETUP)
    if unknown := [name for name in names if name not in known] or (not names and ["(none)"]):
        print(f"no service {', '.join(unknown)}: name one or several of {', '.join(known)}", file=sys.stderr)  # noqa: T201 - the command's answer
        return 2
    _allow_many_files()
    try:
        if SANDBOX in names:
            from services.sandbox.run import main as sandbox  # noqa: PLC0415 - services need none of what it loads

            return sandbox()
        uvloop.run(set_up(load()) if names == (SETUP,) else run(names, load()))
    except (BadSetting, InvalidResource) as wrong:
        print(wrong, file=sys.stderr)  # noqa: T201 - the command's answer
        return 2
    except (Fault, Unavailable, OSError) as why:
        print(why, file=sys.stderr)  # noqa: T201 - the command's answer
        return 1
    return 0


def _allow_many_files() -> None:
    """Raise our own limit as far as we may."""
    soft, hard = getrlimit(RLIMIT_NOFILE)
    wanted = FILES if hard == RLIM_INFINITY else min(FILES, hard)
    if soft not in (RLIM_INFINITY, wanted) and soft < wanted:
        setrlimit(RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
