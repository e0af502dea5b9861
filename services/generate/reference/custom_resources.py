"""The fields of each custom resource, from the schemas that the API server enforces."""

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.crds import CRDS
from schemas.generate.text import table
from services.generate.reference import markdown
from services.generate.reference.markdown import code, section, text

HEAD = ("Field", "Type", "Default", "Meaning")
LIMITS = (
    ("minimum", "{} or more"),
    ("maximum", "up to {}"),
    ("maxLength", "up to {} characters"),
    ("minItems", "{} or more"),
    ("maxItems", "up to {} of them"),
)
"""Limits of the schema that are worth a word; a pattern is explained by the field's own sentence."""
SchemaNode = Mapping[str, Any]


def colony() -> str:
    """The page of Colony."""
    return _page("Colony", "A Colony asks for clusters; its status tells what became of each of them.")


def trigger() -> str:
    """The page of Trigger."""
    return _page("Trigger", "A Trigger says which webhook deliveries request a Colony, and which ones release it.")


def addon_profile() -> str:
    """The page of AddonProfile, and of its twin for all namespaces."""
    what = (
        "An AddonProfile says which add-ons clusters of its namespace shall have; a ClusterAddonProfile, of the same "
    )
    return _page("AddonProfile", f"{what}fields and of no namespace, says it of the clusters of every namespace.")


def cluster_classifier() -> str:
    """The page of ClusterClassifier."""
    return _page("ClusterClassifier", "A ClusterClassifier gives clusters labels from what they are and run.")


def _page(kind: str, what: str) -> str:
    manifest = next(crd.manifest() for crd in CRDS if crd.manifest()["spec"]["names"]["kind"] == kind)
    spec, version = manifest["spec"], manifest["spec"]["versions"][0]
    names = ", ".join(map(code, (spec["names"]["plural"], *spec["names"].get("shortNames", ()))))
    scope = "namespaced" if spec["scope"] == "Namespaced" else "of no namespace"
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    facts = f"`apiVersion: {spec['group']}/{version['name']}`, `kind: {kind}`, {scope}. With kubectl: {names}."
    note = "`kubectl explain` shows the same."
    columns = [
        (code(each["name"]), code(each["jsonPath"]), _wide(each)) for each in version["additionalPrinterColumns"]
    ]
    printed = section("Columns of kubectl get", table(("Column", "From", "Shown"), columns))
    sections = [each for part in ("spec", "status") for each in _sections(part, schema[part])]
    return markdown.page(kind, what, facts, note, *sections, printed)


def _wide(column: SchemaNode) -> str:
    return "with `-o wide`" if column.get("priority") else "always"


def _sections(path: str, node: SchemaNode) -> Iterator[str]:
    """A section for an object, then one for each object within it."""
    properties: Mapping[str, SchemaNode] = node.get("properties", {})
    required = node.get("required", ())
    rows = [_row(name, each, required=name in required) for name, each in properties.items()]
    yield section(code(path), text(node.get("description", "")), table(HEAD, rows))
    for name, each in properties.items():
        inner, suffix = _inner(each)
        if inner.get("properties"):
            described = {"description": each.get("description", "")} | dict(inner)
            yield from _sections(f"{path}.{name}{suffix}", described)


def _inner(node: SchemaNode) -> tuple[SchemaNode, str]:
    """What a field holds: itself, each item of a list, or each value of a map; and what its path ends with."""
    if node.get("type") == "array":
        return node["items"], "[]"
    if isinstance(values := node.get("additionalProperties"), Mapping):
        return values, ".*"
    return node, ""


def _row(name: str, node: SchemaNode, *, required: bool) -> tuple[str, ...]:
    return (code(name), _type(node), "required" if required else _default(node), _meaning(node))


def _type(node: SchemaNode) -> str:
    inner, suffix = _inner(node)
    kind = str(inner.get("type", "any"))
    if "x-kubernetes-int-or-string" in inner:
        kind = "integer or string"
    return {"[]": f"list of {kind}", ".*": f"map to {kind}"}.get(suffix, kind)


def _default(node: SchemaNode) -> str:
    default = node.get("default")
    return "" if default is None else code(str(default).lower() if isinstance(default, bool) else default)


def _meaning(node: SchemaNode) -> str:
    inner, _ = _inner(node)
    said = [text(node.get("description", "") or inner.get("description", ""))]
    if choices := (node.get("enum") or inner.get("enum")):
        said.append(f"One of {', '.join(map(code, choices))}.")
    limits = [form.format(node[key]) for key, form in LIMITS if key in node]
    return " ".join(filter(None, (*said, f"({', '.join(limits)})" if limits else "")))
