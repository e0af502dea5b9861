"""One target under libFuzzer, which never comes back: a process of its own."""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["events", "schemas", "services", "tests.fuzz"]):
    from tests.fuzz.targets import TARGETS


def main(name: str, corpus: Path, options: list[str]) -> None:
    """Does not return."""
    target = TARGETS[name]
    for number, seed in enumerate(target.seeds):
        (corpus / str(number)).write_bytes(seed)
    atheris.Setup([sys.argv[0], str(corpus), *options], target.holds)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
