"""Builds a CustomResourceDefinition from a model, its names and its printer columns."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from schemas.crds.rules import CelRule
from schemas.crds.structural import Schema, structural

GROUP = "alate.dev"
VERSION = "v1alpha1"


@dataclass(frozen=True)
class CrdColumn:
    """A column of `kubectl get`; one of `priority` 1 shows with ``-o wide`` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0

    def manifest(self) -> dict[str, Any]:
        """As a CRD writes it."""
        column = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return column | ({"priority": self.priority} if self.priority else {})


@dataclass(frozen=True)
class Crd:
    """A custom resource with a status subresource."""

    kind: str
    plural: str
    short: str
    spec: type[BaseModel]
    status: type[BaseModel]
    doc: str
    columns: tuple[CrdColumn, ...]
    rules: tuple[CelRule, ...] = ()
    """Validation rules of the whole object, in CEL."""
    namespaced: bool = True

    @property
    def name(self) -> str:
        """``<plural>.<group>``."""
        return f"{self.plural}.{GROUP}"

    def schema(self) -> Schema:
        """The structural schema of the whole object."""
        return {
            "type": "object",
            "description": self.doc,
            "required": ["spec"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "spec": structural(self.spec),
                "status": structural(self.status),
            },
        } | ({"x-kubernetes-validations": list(self.rules)} if self.rules else {})

    def manifest(self) -> dict[str, Any]:
        """The CustomResourceDefinition."""
        singular = self.kind.lower()
        names = {
            "kind": self.kind,
            "listKind": f"{self.kind}List",
            "plural": self.plural,
            "singular": singular,
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": GROUP,
                "names": names | {"shortNames": [self.short]},
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "versions": [self._version()],
            },
        }

    def _version(self) -> dict[str, Any]:
        return {
            "name": VERSION,
            "served": True,
            "storage": True,
            "subresources": {"status": {}},
            "additionalPrinterColumns": [column.manifest() for column in self.columns],
            "schema": {"openAPIV3Schema": self.schema()},
        }
