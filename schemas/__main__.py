"""`python -m schemas` writes the files that are generated from the declarations."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from schemas.crds import CRDS
from schemas.discover import lifecycles
from schemas.generate import files, folder
from schemas.registry import declarations

GENERATED = Path(__file__).parent / "generated"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; with ``--check`` name each one that differs, and give 1 if any does."""
    asked = _parser().parse_args(arguments)
    lives = lifecycles()  # imports every noun, which declares its messages
    wanted = files(declarations(), lives, CRDS)
    return folder.command(asked.out, wanted, "what schemas declares", check=asked.check)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m schemas", description="Write schemas/generated/ anew.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file would change")
    parser.add_argument("--out", type=Path, default=GENERATED, metavar="DIR", help="where to (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
