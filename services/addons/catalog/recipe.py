"""What a recipe says: where an add-on comes from, what it needs and gives, and when it really works."""

from typing import Literal

from msgspec import Struct, field

from services.addons.catalog.values import Values


class Option(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something about an add-on that a user chooses by name instead of by the chart's values."""

    about: str
    values: Values
    """Values of the chart, in which ${value} is what the user chose."""
    type: Literal["text", "number", "switch"] = "text"
    choices: tuple[str, ...] = ()
    required: bool = False
    """Without it the add-on is installed, and cannot do its work."""


class Beside(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is different where another add-on or capability is in the cluster too."""

    present: str = field(name="with")
    values: Values = {}
    patches: tuple[Values, ...] = ()
    drops: tuple[str, ...] = ()
    """Capabilities that it leaves to the other."""


class Recipe(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """One add-on of the catalog."""

    name: str
    title: str
    source: Values
    """As `AddonSpec.source`."""
    namespace: str
    provides: tuple[str, ...]
    """Capabilities that the cluster has by it."""
    release: str | None = None
    values: Values = {}
    patches: tuple[Values, ...] = ()
    """Kustomize patches."""
    timeout: str | None = None
    needs: tuple[str, ...] = ()
    """Capabilities without which it does not work."""
    after: tuple[str, ...] = ()
    """Capabilities or add-ons that come first where they are planned too; * is every other add-on."""
    rank: int = 0
    """Of several that provide a capability the lowest rank is chosen."""
    beside: tuple[Beside, ...] = ()
    extends: dict[str, tuple[str, ...]] = {}
    """What it adds to lists of others' values, which name such a list as ${NAME}."""
    lists: dict[str, tuple[str, ...]] = {}
    """Lists that others extend, with what is always in them."""
    images: dict[str, str] = {}
    """From the path of a value to the registry, repository or image that the chart has there by default."""
    options: dict[str, Option] = {}
    ready: tuple[str, ...] = ()
    """CEL over its objects: more than that each is healthy."""
    webhooks: bool = False
    """Its controller writes the certificate by which its webhooks are called."""
    canary: tuple[Values, ...] = ()
    """Objects that the API server must accept in a dry run before anything relies on the add-on."""
    notes: tuple[str, ...] = ()
    """What a user should know."""

    @property
    def version(self) -> str:
        """The version of its chart, or the tag in its Git repository."""
        return str(self.source["chart"]["version"] if "chart" in self.source else self.source["git"]["tag"])


class Capability(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something that add-ons provide and people ask for."""

    about: str
    single: str = ""
    """Why a cluster must have only one add-on that provides it; empty: it may have several."""
