"""A conversation is held with one server here, and what it answered is kept in a form that can be compared."""

import asyncio
import re
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from events.kube.client import Request, Response, Transport
from tests.contracts.api.asking import QUIET, Answer, ask, until
from tests.contracts.api.normal import Memory, body, decoded
from tests.contracts.api.sides import Side
from tests.contracts.api.talk import NAMESPACES, Step, Talk

_REFERENCE = re.compile(r"\$(\d+)\.([\w./:-]+)")


@dataclass(frozen=True)
class Said:
    """One answer, as it was and as it is compared."""

    step: Step
    raw: Answer
    shown: dict[str, Any]


async def hold(side: Side, talk: Talk, namespace: str) -> list[Said]:
    """Say every step in a namespace of its own; gives every answer, whatever it is."""
    await ask(side.ways["admin"], "POST", NAMESPACES, {"metadata": {"name": namespace}})
    memory, said = Memory(), list[Said]()
    for step in talk.steps:
        if step.method == "COMPACT":
            await side.compact()
        if step.user not in side.ways:
            break  # a sandbox knows no users who may do nothing: the rest of the talk is theirs
        raw = await _say(side, _filled(step, namespace, [each.raw.body for each in said]))
        said.append(Said(step, raw, _shown(step, raw, memory)))
    return said


def broken(said: list[Said], *, ours: bool = False) -> list[str]:
    """Where the answers are not what the conversation itself says; `ours`: what it says of the sandbox."""
    return [
        f"{index}: {each.step.method} {each.step.path} said {each.raw.status} {_reason(each)}: {each.raw.body}"
        for index, each in enumerate(said)
        if (each.raw.status, _reason(each)) != ((ours and each.step.ours) or (each.step.says, each.step.reason))
        or len(each.shown.get("events", ())) != each.step.events
        or (each.step.until and not each.step.until(each.raw.body))
    ]


def _reason(each: Said) -> str:
    found = each.raw.body
    if isinstance(found, str) and each.raw.status == 404:  # a path that nothing is served at: plain text
        return "NotFound"
    return found.get("reason", "") if isinstance(found, dict) and found.get("kind") == "Status" else ""


async def _say(side: Side, step: Step) -> Answer:
    way = side.ways[step.user]
    if step.method == "COMPACT":
        return Answer(200, "", (), None)
    if step.method == "WATCH":
        return await _listen(way, step)

    async def once() -> Answer:
        return await ask(way, step.method, step.path, step.body, media=step.media, accept=step.accept, query=step.query)

    return await until(once, lambda answer: step.until is None or step.until(answer.body))


async def _listen(way: Transport, step: Step) -> Answer:
    """As many events as the step asks for, or those that came in time."""
    events: list[Any] = []
    asked = Request("GET", step.path, step.query, {"Accept": step.accept})
    async with aclosing(way.stream(asked)) as lines:
        while len(events) < step.events or not step.events:
            try:
                async with asyncio.timeout(QUIET):
                    line = await anext(lines)
            except (TimeoutError, StopAsyncIteration):
                break
            if isinstance(line, Response):
                return Answer(line.status, "application/json", (), decoded(line.body))
            events.append(decoded(line))
    return Answer(200, "application/json", (), events)


def _shown(step: Step, raw: Answer, memory: Memory) -> dict[str, Any]:
    if step.method == "WATCH" and isinstance(raw.body, list):
        return {"status": raw.status, "events": [body(event, memory) for event in raw.body]}
    looked = step.look(raw.body) if step.look and raw.status < 300 else raw.body
    warnings = [memory.text(each) for each in raw.warnings]
    return {"status": raw.status, "media": raw.media, "warnings": warnings, "body": body(looked, memory)}


def _filled(step: Step, namespace: str, before: list[Any]) -> Step:
    def fill(value: Any) -> Any:
        match value:
            case str():
                text = value.replace("{ns}", namespace)
                return _REFERENCE.sub(lambda m: str(_at(before[int(m[1])], m[2])), text)
            case dict():
                return {fill(key): fill(below) for key, below in value.items()}
            case list() | tuple():
                return [fill(item) for item in value]
        return value

    return replace(step, path=fill(step.path), body=fill(step.body), query=fill(dict(step.query)))


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value
