"""What a schema refuses, fills in and warns of, in which words."""

from typing import Any

from tests.contracts.api.kinds import crd, schema
from tests.contracts.api.talk import (
    CONFIGMAPS,
    CRDS,
    DEPLOYMENTS,
    WIDGETS,
    Talk,
    apply,
    configmap,
    differing,
    eventually,
    get,
    merge,
    post,
    seen,
    steps,
    talk,
    widget,
)
from tests.contracts.api.talks.writing import WEB

_WRONG: dict[str, dict[str, Any]] = {
    "a text for a number": {"count": "many"},
    "a number for a text": {"color": 7},
    "a broken number for a whole one": {"count": 1.5},
    "a list for an object": {"limits": [1]},
    "an object for a list": {"tags": {"a": 1}},
    "a text for a boolean": {"on": "yes"},
    "more than the maximum": {"count": 11},
    "less than the minimum": {"count": -1},
    "the exclusive minimum": {"ratio": 0},
    "a value outside the enum": {"size": "Q"},
    "a text too long": {"color": "ultramarine"},
    "a text too short": {"color": "r"},
    "a text that does not match": {"code": "A1"},
    "a time that is none": {"since": "yesterday"},
    "too many items": {"parts": [{"name": n} for n in "abcd"]},
    "the same item twice in a set": {"tags": ["a", "b", "a"]},
    "the same key twice in a map": {"parts": [{"name": "a"}, {"name": "a", "weight": 2}]},
    "an item without its key": {"parts": [{"weight": 1}]},
    "a missing field": {"deep": {"level": 2}},
    "a wrong item": {"tags": ["a", 3]},
    "a wrong value in a map": {"limits": {"a": "b"}},
    "a boolean for a number or text": {"port": True},
    "several wrong fields": {"count": 12, "color": "ultramarine", "size": "Q"},
}


def _wrong(what: str, spec: dict[str, Any]) -> Talk:
    return talk(f"{what} is invalid", post(WIDGETS, widget("one", **spec), 422, "Invalid"))


_NAMES = {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"}
_OPEN = schema(spec={"type": "object", "x-kubernetes-preserve-unknown-fields": True})


def _gizmo(**spec: Any) -> dict[str, Any]:
    return crd("{ns}.io", "gizmos", "Gizmo", {"schema": _OPEN}, **spec)


GADGETS = "/apis/demo.io/v1/namespaces/{ns}/gadgets"


def _gadget(**spec: Any) -> dict[str, Any]:
    whole = {"kept": "a", "version": "v1.34.0", "least": 1, "most": 2} | spec
    return {"apiVersion": "demo.io/v1", "kind": "Gadget", "metadata": {"name": "one"}, "spec": whole}


GIZMOS = "/apis/{ns}.io/v1/namespaces/{ns}/gizmos"
GIZMO = f"{CRDS}/gizmos.{{ns}}.io"

TALKS = (
    *(_wrong(what, spec) for what, spec in _WRONG.items()),
    talk("defaults are filled in", post(WIDGETS, widget("one", deep={"must": "x"}))),
    talk("a null where none may be is filled in or dropped", post(WIDGETS, widget("one", size=None, color=None))),
    talk("a null where one may be stays", post(WIDGETS, widget("one", note=None))),
    talk("a whole number may be written with a point", post(WIDGETS, widget("one", count=2.0))),
    talk(
        "a number or a text may be either", post(WIDGETS, widget("a", port=80)), post(WIDGETS, widget("b", port="http"))
    ),
    talk(
        "an unknown field is dropped with a warning",
        post(WIDGETS, widget("one", bogus=1, deep={"must": "x", "odd": 2})),
    ),
    talk(
        "an unknown field is dropped in silence if asked so",
        post(WIDGETS, widget("one", bogus=1), fieldValidation="Ignore"),
    ),
    talk(
        "an unknown field is refused if asked so",
        post(WIDGETS, widget("one", bogus=1), 400, "BadRequest", fieldValidation="Strict"),
    ),
    talk(
        "several unknown fields are refused together",
        post(
            WIDGETS, widget("one", bogus=1, deep={"must": "x", "odd": 2}), 400, "BadRequest", fieldValidation="Strict"
        ),
    ),
    talk(
        "a built-in's unknown field is refused if asked so",
        post(CONFIGMAPS, {**configmap("one"), "bogus": 1}, 400, "BadRequest", fieldValidation="Strict"),
    ),
    talk(
        "a built-in's unknown field is a warning",
        post(CONFIGMAPS, {**configmap("one"), "bogus": 1}, fieldValidation="Warn"),
    ),
    talk(
        "a merge patch's unknown field is refused if asked so",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one", {"spec": {"bogus": 1}}, 422, "Invalid", fieldValidation="Strict"),
    ),
    talk(
        "a JSON patch's unknown field is refused if asked so",
        post(WIDGETS, widget("one")),
        steps(
            f"{WIDGETS}/one",
            {"op": "add", "path": "/spec/bogus", "value": 1},
            says=422,
            reason="Invalid",
            fieldValidation="Strict",
        ),
    ),
    talk(
        "open content keeps everything",
        post(WIDGETS, widget("one", free={"a": {"b": [1, None, "x"]}}), fieldValidation="Strict"),
    ),
    talk(
        "an unknown mode of strictness is invalid",
        post(WIDGETS, widget("one"), 422, "Invalid", fieldValidation="Harsh"),
    ),
    talk(
        "an invalid status is refused",
        post(WIDGETS, widget("one")),
        merge(f"{WIDGETS}/one/status", {"status": {"phase": 7}}, 422, "Invalid"),
    ),
    talk("a label's value is checked", post(WIDGETS, widget("one", meta={"labels": {"a": "b c"}}), 422, "Invalid")),
    talk("a label's key is checked", post(CONFIGMAPS, configmap("one", meta={"labels": {"a b": "c"}}), 422, "Invalid")),
    talk(
        "a built-in of a wrong type is refused",
        post(CONFIGMAPS, {"metadata": {"name": "one"}, "data": ["a"]}, 400, "BadRequest"),
    ),
    talk(
        "metadata of a wrong type is refused", post(WIDGETS, widget("one", meta={"labels": ["a"]}), 400, "BadRequest")
    ),
    talk("an apply of a wrong type cannot be typed", apply(f"{WIDGETS}/one", widget("one", tags={"a": 1}), says=500)),
    talk(
        "a definition is served once it is established",
        seen(post(CRDS, _gizmo()), lambda body: body["spec"]),
        eventually(get(GIZMOS), lambda body: isinstance(body, dict) and body.get("kind") == "GizmoList"),
        seen(get(GIZMO), lambda body: (body["status"]["acceptedNames"], body["status"]["storedVersions"])),
        post(GIZMOS, {"apiVersion": "{ns}.io/v1", "kind": "Gizmo", "metadata": {"name": "g"}, "spec": {"any": 1}}),
    ),
    talk(
        "a definition's names are filled in",
        seen(post(CRDS, _gizmo(names={"plural": "gizmos", "kind": "Gizmo"})), lambda body: body["spec"]["names"]),
    ),
    talk(
        "a definition is named for what it defines",
        post(CRDS, {**_gizmo(), "metadata": {"name": "other.{ns}.io"}}, 422, "Invalid"),
    ),
    talk(
        "a definition without a schema is invalid",
        post(CRDS, crd("{ns}.io", "gizmos", "Gizmo", {}), 422, "Invalid"),
    ),
    talk(
        "a definition whose schema is not structural is invalid",
        post(
            CRDS, crd("{ns}.io", "gizmos", "Gizmo", {"schema": schema(spec={"properties": {"a": {}}})}), 422, "Invalid"
        ),
    ),
    talk(
        "a list without items is no schema",
        post(CRDS, crd("{ns}.io", "gizmos", "Gizmo", {"schema": schema(spec={"type": "array"})}), 422, "Invalid"),
    ),
    talk("an object that breaks a rule is invalid", post(GADGETS, _gadget(least=3), 422, "Invalid")),
    talk("a rule without a value is broken", post(GADGETS, {**_gadget(), "spec": {"least": 1}}, 422, "Invalid")),
    talk(
        "what may not change by a rule is refused where its condition holds, and all else is taken",
        post(GADGETS, _gadget()),
        merge(f"{GADGETS}/one", {"spec": {"kept": "b"}}),
        merge(f"{GADGETS}/one/status", {"status": {"phase": "Ready"}}),
        merge(f"{GADGETS}/one", {"spec": {"kept": "c"}}, 422, "Invalid"),
        merge(f"{GADGETS}/one", {"spec": {"most": 5}}),
    ),
    talk(
        "a rule may compare parts of texts",
        post(GADGETS, _gadget()),
        merge(f"{GADGETS}/one", {"spec": {"version": "v1.35.0"}}),
        merge(f"{GADGETS}/one", {"spec": {"version": "v1.20.0"}}, 422, "Invalid"),
    ),
    talk(
        "a deployment without a selector is invalid",
        differing(post(DEPLOYMENTS, {**WEB, "spec": {"template": WEB["spec"]["template"]}}, 422, "Invalid"), 201),
    ),
)
