"""Plans and explanations as people read them: a sentence for the request, a table for the placements."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from services.cli.get.clusters import word
from services.cli.get.labels import in_namespace
from services.cli.output.cells import Cell, age
from services.cli.output.render import Columns, Printer
from services.queries.item import Item


def _text(name: str) -> Cell:
    return lambda item, _: str(item[name])


def _dollars(name: str) -> Cell:
    return lambda item, _: "" if item.get(name) is None else f"{item[name]:.2f}"


def _of(name: str) -> Cell:
    """A field of the placement."""
    return lambda item, _: str(item["placement"][name])


def _each(name: str) -> Cell:
    """A field of every lot, in the pools' order; once, where it is always the same."""
    return lambda item, _: ", ".join(dict.fromkeys(str(lot[name]) for lot in item["placement"]["lots"]))


def _machines(item: Item, _: datetime) -> str:
    return ", ".join(f"{lot['nodes']} {lot['instance']}" for lot in item["placement"]["lots"])


def _spot(item: Item, _: datetime) -> str:
    return ", ".join(dict.fromkeys("yes" if lot["spot"] else "no" for lot in item["placement"]["lots"]))


PLACE: dict[str, Cell] = {
    "CLOUD": _of("cloud"),
    "REGION": _of("region"),
    "ZONE": _each("zone"),
    "MACHINES": _machines,
    "SPOT": _spot,
    "USD/H": _dollars("pricePerHour"),
}
CHOICES = Columns({"": _text("rank"), **PLACE, "COUNTS AS": _dollars("countsAs"), "BECAUSE": _text("because")})
EXCLUDED = Columns(
    {"POOL": _text("pool"), "LEFT OUT BY": _text("reason"), "WAYS": _text("count"), "NEAREST": _text("nearest")}
)
ATTEMPTS = Columns(
    {
        "": _text("number"),
        **PLACE,
        "NEXT BEST": _dollars("nextBestPerHour"),
        "BEGAN": lambda item, _: item["began"][:19],
        "COST": _dollars("costUsd"),
        "SAVED": _dollars("savedUsd"),
        "RESULT": lambda item, _: _came_to(item),
    },
)


def planned(told: Item) -> str:
    """What `alate plan` says."""
    now = datetime.now(UTC)
    lines = [line for each in told["clusters"] for line in _plan(each, now)]
    notes = (f"offers are from {told['offersFrom']}", *told["notes"])
    return "".join((*lines, *(f"note: {note}\n" for note in notes)))


def _plan(each: Item, now: datetime) -> Iterator[str]:
    yield f"{each['name']}{in_namespace(each['tenant'])}: {_wanted(each['need'])}\n"
    if each["existing"]:
        yield _stands(each["existing"], each["need"]["adopt"])
    ranked = [{**choice, "rank": number} for number, choice in enumerate(each["choices"], start=1)]
    yield _table(CHOICES, ranked) if ranked else f"  no placement: {each['reason']}: {each['message']}\n"
    if each["excluded"]:
        yield "\n" + _table(EXCLUDED, each["excluded"])
    for held in each["held"]:
        yield f"held: {held['held']} of {held['limit']} {held['instance']} on {held['cloud']} {held['region']}\n"
    for refused in each["refused"]:
        told = refused["refusal"]
        way = " spot" if told.get("spot") else ""
        where = f"{refused['cloud']} {refused['region']} {told['instance']}{way}"
        yield f"refused: {where}: {told['reason']} {age(told['at'], now)} ago\n"
    if each["denied"]:
        yield f"denied: {', '.join(each['denied'])} refused the tenant's credential to another cluster\n"
    yield "\n"


def _stands(there: Item, adopt: Item) -> str:
    """What would be adopted, what it has, and what becomes of it in the end."""
    machines = [f"{one['nodes']} {one['instance'] or 'workers'}{_named(one)}" for one in there["pools"]]
    workers = machines or ([f"{there['nodes']} workers"] if there["nodes"] is not None else [])
    told = (*workers, f"{there['cloud']} {there['region']}".strip(), there["kubernetesVersion"])
    end = "deleted" if adopt.get("onRelease") == "delete" else "kept"
    return f"adopts {there['name']} ({end} in the end): {', '.join(filter(None, told)) or 'nothing is known of it'}\n"


def _named(one: Item) -> str:
    return (" spot" if one["spot"] else "") + (f" in pool {one['pool']}" if one["pool"] else "")


def _wanted(need: Item) -> str:
    pools = ", ".join(
        f"{pool['nodes']} node{'s'[: pool['nodes'] > 1]} of {pool['acceleratorsPerNode']} {pool['accelerator']} "
        f"({pool.get('spot', 'preferred')} spot)"
        for pool in need["pools"]
    )
    only = [*need.get("clouds", ()), *need.get("regions", ()), *need.get("residency", ())]
    cap = need.get("maxPricePerHour")
    where = f", only {', '.join(only)}" if only else ""
    return f"{pools}{where}" + ("" if cap is None else f", for at most ${cap:.2f} an hour")


def accounted(told: Item) -> str:
    """What `alate explain` says."""
    return "".join(_account(told))


def _account(told: Item) -> Iterator[str]:
    again = f" (times it was created before: {told['before']})" if told["before"] else ""
    shown, own = word(told), f"{told['state']} since {told['since'][:19]} UTC"
    where, state = in_namespace(told["tenant"]), own if shown == told["state"] else f"{shown}; it was {own}"
    yield f"{told['name']}{where} is {state}\n"
    yield f"requested at {told['askedAt'][:19]} UTC{again}: {_wanted(told['need'])}\n\n"
    yield _table(ATTEMPTS, told["attempts"]) if told["attempts"] else "no attempt yet\n"
    yield f"\ncost so far: ${told['costUsd']:.2f}\n"
    lines = {
        "now": "now {}",
        "interruptions": "interruptions: {}",
        "refused": "the newest change is refused: {}",
        "waitsFor": "waits for {}",
        "reason": "released because: {}",
    }
    for name, line in lines.items():
        if told.get(name):
            yield line.format(told[name]) + "\n"
    for key, one in sorted(told.get("classified", {}).items()):
        yield f"label {key}={one['value']} by the ClusterClassifier {one['classifier']}\n"


def _came_to(item: Item) -> str:
    if item["reason"]:
        return f"{item['reason']} at {item['failedAt'][:19]}: {item['message']}"
    return f"released at {item['ended'][:19]}" if item["ended"] else "running, or being created"


def _table(kind: Columns, items: Iterable[Item]) -> str:
    out: list[str] = []
    Printer(kind, "table", out.append).all(list(items))
    return "".join(out)
