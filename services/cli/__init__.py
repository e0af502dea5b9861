"""The `alate` command: whatever goes wrong is one clear sentence and an exit code, never a traceback."""

import sys


def main() -> None:
    """Run the command line. Exit codes: 0 it is done, 1 it failed, 2 bad input, 130 interrupted."""
    # Imported here, as importing a part of this package must not cost what the command line costs.
    from services.cli.app import app  # noqa: PLC0415

    try:
        app()
    except Exception as error:  # noqa: BLE001 - the last place where an error can become a sentence
        from services.cli.errors import nobody_reads, told  # noqa: PLC0415 - only now is it known that it is needed

        if nobody_reads(error):
            sys.exit(0)
        sentence, code = told(error)
        sys.stderr.write(f"alate: {sentence}\n")
        sys.exit(code)
