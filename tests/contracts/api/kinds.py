"""The custom kinds every conversation may use: one with every kind of field, one that has no status of its own."""

from typing import Any

PARTS = {
    "type": "array",
    "maxItems": 3,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}, "on": {"type": "boolean"}},
    },
}
SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "enum": ["S", "M"], "default": "S"},
        "replicas": {"type": "integer", "maximum": 10, "minimum": 0},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
        "color": {"type": "string", "maxLength": 8, "minLength": 2},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
        "since": {"type": "string", "format": "date-time"},
        "count": {"type": "integer", "maximum": 10, "minimum": 0},
        "port": {"x-kubernetes-int-or-string": True},
        "on": {"type": "boolean"},
        "note": {"type": "string", "nullable": True},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "lines": {"type": "array", "items": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "box": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"width": {"type": "integer"}, "height": {"type": "integer"}},
        },
        "deep": {
            "type": "object",
            "required": ["must"],
            "properties": {
                "must": {"type": "string"},
                "level": {"type": "integer", "default": 1},
                "inner": {"type": "object", "default": {}, "properties": {"mode": {"type": "string", "default": "x"}}},
            },
        },
        "parts": PARTS,
    },
}
STATUS = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "replicas": {"type": "integer"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
            },
        },
    },
}
COLUMNS = [
    {"name": "Size", "type": "string", "jsonPath": ".spec.size"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def crd(group: str, plural: str, kind: str, version: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A CustomResourceDefinition of one version; `spec` replaces keys of its spec."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    whole = {"group": group, "scope": "Namespaced", "names": names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {**whole, "versions": [{"name": "v1", "served": True, "storage": True, **version}], **spec},
    }


def schema(**properties: Any) -> dict[str, Any]:
    """A version's schema."""
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}


RULED = {
    "type": "object",
    "properties": {
        "kept": {"type": "string", "maxLength": 8},
        "version": {"type": "string", "maxLength": 16},
        "most": {"type": "integer"},
        "least": {"type": "integer"},
    },
}
RULES = [
    {"rule": "self.spec.least <= self.spec.most", "message": "least is at most most"},
    {
        "rule": "!has(oldSelf.status) || !has(oldSelf.status.phase) || self.spec.kept == oldSelf.spec.kept",
        "message": "kept cannot change while it runs",
        "reason": "FieldValueForbidden",
        "fieldPath": ".spec.kept",
    },
    {"rule": "int(self.spec.version.split('.')[1]) >= int(oldSelf.spec.version.split('.')[1])"},
]
RULED_STATUS = {"type": "object", "properties": {"phase": {"type": "string"}}}


SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
WIDGET = crd(
    "demo.io",
    "widgets",
    "Widget",
    {
        "schema": schema(spec=SPEC, status=STATUS),
        "subresources": {"status": {}, "scale": SCALE},
        "additionalPrinterColumns": COLUMNS,
        "selectableFields": [{"jsonPath": ".spec.color"}],
    },
    names={"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["wg"]},
)
PLAIN = crd("demo.io", "plains", "Plain", {"schema": schema(spec=SPEC, status=STATUS)})
GADGET = crd(
    "demo.io",
    "gadgets",
    "Gadget",
    {
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": RULED, "status": RULED_STATUS},
                "x-kubernetes-validations": RULES,
            }
        },
        "subresources": {"status": {}},
    },
)
KINDS = (WIDGET, PLAIN, GADGET)
