"""The process that evaluates one file of Jsonnet: a question in JSON on its input, the result on its output."""

import sys
from pathlib import Path
from typing import Any

import msgspec

STACK = 500
"""Calls within calls."""
LIBRARIES = ("", "lib", "vendor")
"""Folders of the source that imports are looked for in, besides the importing file's own."""


class JsonnetQuestion(msgspec.Struct):
    """What is evaluated."""

    root: str
    """The source: nothing outside is read."""
    file: str
    values: dict[str, Any]
    """The external variables."""


class JsonnetImports:
    """Finds what is imported."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __call__(self, folder: str, name: str) -> tuple[str, bytes]:
        """The file and its content. Raises ValueError."""
        for base in (Path(folder), *(self._root / each for each in LIBRARIES)):
            found = (base / name).resolve()
            if found.is_relative_to(self._root) and found.is_file():
                return str(found), found.read_bytes()
        raise ValueError(f"there is no file {name} in the source")


def evaluate(question: JsonnetQuestion) -> str:
    """The result as JSON. Raises RuntimeError, ValueError."""
    import _jsonnet  # noqa: PLC0415 - what else imports this file does not load the library

    root = Path(question.root).resolve()
    codes = {name: msgspec.json.encode(value).decode() for name, value in question.values.items()}
    text = Path(question.file).read_text()
    return str(
        _jsonnet.evaluate_snippet(
            question.file, text, ext_codes=codes, import_callback=JsonnetImports(root), max_stack=STACK, max_trace=3
        )
    )


def main() -> int:
    """0, or 1 with the mistake on the standard error."""
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=JsonnetQuestion)
    try:
        sys.stdout.write(evaluate(question))
    except (RuntimeError, ValueError, OSError) as wrong:
        sys.stderr.write(str(wrong))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
