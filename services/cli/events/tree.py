"""Draws the tree of `alate events lineage`."""

from datetime import datetime

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from events.bus import Bus
from services.cli.events.flow import gather
from services.cli.events.lineage import Because, LineageNode, lineage
from services.cli.output.render import Form, TextWriter, document

NOTES = {
    Because.ROOT: "",
    Because.CAUSE: "",
    Because.REQUEST: "through a wish that has been replaced since",
    Because.ITSELF: "by itself",
    Because.REFUSED: "refused",
    Because.REPLACED: "by a level that has been replaced since",
}
NEXT = (Because.ITSELF, Because.REPLACED)


async def show(bus: Bus, name: str, *, form: Form, write: TextWriter) -> None:
    """Show what led to an event and what came of it. Raises Failed."""
    messages, selected = await gather(bus, name)
    trees = lineage(messages, selected)
    if form != "table":
        write(document({"selected": selected.id if selected else name, "trees": [node.item() for node in trees]}, form))
    else:
        write("".join(drawn(node, selected.place if selected else "") for node in trees))


def drawn(root: LineageNode, place: str) -> str:
    """The tree as text; the message at `place` is marked."""
    began = root.record.stored.time
    tree = Tree(_label(root, began, place))
    for effect in root.effects:
        _grow(tree, effect, began, place)
    console = Console(width=1000, no_color=True)
    with console.capture() as capture:
        console.print(tree)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _grow(branch: Tree, node: LineageNode, began: datetime, place: str) -> None:
    own = branch.add(_label(node, began, place))
    for effect in node.effects:
        _grow(branch if effect.because in NEXT else own, effect, began, place)


def _label(node: LineageNode, began: datetime, place: str) -> Text:
    record = node.record
    later = (record.stored.time - began).total_seconds()
    mark = "* " if record.place == place else ""
    note = f"  ({NOTES[node.because]})" if NOTES[node.because] else ""
    link = f"  (released by {node.release.record.place})" if node.release else ""
    ends = f"  (releases {', '.join(each.record.stored.subject for each in node.ends)})" if node.ends else ""
    return Text(f"{mark}{record.stored.subject}  {record.place}  +{later:.3f}s{note}{link}{ends}")
