"""The `alate` command: every error is one clear sentence and an exit code, never a traceback."""

import sys


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 bad input, 3 timed out, 130 interrupted."""
    # Imported here: an import of a part of this package must not cost what the command line costs.
    from services.cli.app import app  # noqa: PLC0415

    try:
        app()
    except Exception as error:  # noqa: BLE001 - the last place where an error can become a sentence
        from services.cli.errors import described, nobody_reads  # noqa: PLC0415 - needed only for an error

        if nobody_reads(error):
            sys.exit(0)
        sentence, code = described(error)
        sys.stderr.write(f"alate: {sentence}\n")
        sys.exit(code)
