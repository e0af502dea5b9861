"""``python -m tests.fuzz NAME… [-runs=N]`` bends bytes towards code that was not reached yet, until a target breaks."""

import sys
import tempfile
from resource import RUSAGE_CHILDREN, getrusage
from subprocess import run

RUNS = "-runs=100000"
LIMITS = ("-rss_limit_mb=1024", "-timeout=10", "-max_len=65536", "-seed=1", "-print_final_stats=1")
"""What libFuzzer ends a target for: a GiB, ten seconds for one input."""


def main(arguments: list[str]) -> int:
    """Exit code 0 if every target held for every input; libFuzzer's own otherwise, with the input in a file."""
    options = [each for each in arguments if each.startswith("-")]
    names = [each for each in arguments if not each.startswith("-")] or _names()
    for name in names:
        with tempfile.TemporaryDirectory(prefix="alate-fuzz-") as corpus:
            code = run([sys.executable, "-m", "tests.fuzz.one", name, corpus, RUNS, *LIMITS, *options], check=False)
            if code.returncode:
                return code.returncode
        print(f"{name}: held; at most {getrusage(RUSAGE_CHILDREN).ru_maxrss // 1024} MiB")  # noqa: T201 - the answer
    return 0


def _names() -> list[str]:
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415 - not loaded uninstrumented by who names one

    return list(TARGETS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
