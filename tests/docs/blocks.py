"""The fenced blocks of a page, with the comment before each that says what is to be done with it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "guides").glob("*.md")))
"""Whose snippets are run."""
SHOWN = {"text", "mermaid", "promql", "json"}
"""Languages of what is only looked at."""
_BLOCK = re.compile(
    r"(?ms)^(?:<!-- (?P<what>file|not run): (?P<value>[^\n]+) -->\n+)?```(?P<language>\w+)\n(?P<text>.*?)^```$"
)
_PROMPT, _MORE = "$ ", "> "


@dataclass
class Step:
    """A command and the output that the page shows."""

    line: int
    command: str
    output: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    line: int
    language: str
    text: str
    file: str = ""
    """The file that the reader is told to save it in."""
    unrun: str = ""
    """Why it cannot be run here."""

    def steps(self) -> list[Step]:
        """The commands of a console block."""
        found: list[Step] = []
        for number, line in enumerate(self.text.splitlines(), self.line):
            if line.startswith(_PROMPT):
                found.append(Step(number, line.removeprefix(_PROMPT)))
            elif line.startswith(_MORE) and found and not found[-1].output:
                found[-1].command += "\n" + line.removeprefix(_MORE)
            else:
                found[-1].output.append(line)
        return found


def blocks(page: Path) -> Iterator[Block]:
    """All of a page, from top to bottom."""
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        marks = {"file": found["value"]} if found["what"] == "file" else {"unrun": found["value"] or ""}
        yield Block(text.count("\n", 0, found.start("text")) + 1, found["language"], found["text"], **marks)
