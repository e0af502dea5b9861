"""Node labels: accelerators read off those of discovery tools, and the labels that alate writes itself."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from events.kube.port import Object
from schemas.accelerators import canonical
from schemas.inventory import Device, NodeSeen, Trouble

NVIDIA, AMD = "nvidia.com/", "amd.com/"
NFD = "feature.node.kubernetes.io/pci-"
VENDORS = {"10de": "nvidia", "1002": "amd"}
"""By PCI vendor id."""
CLASSES = ("0300", "0302", "0380", "1200")
"""PCI classes an accelerator can have: VGA, 3D, display, processing accelerator."""
PCI_MODELS = {
    "10de:15f8": "P100", "10de:1db1": "V100", "10de:1db5": "V100", "10de:1db8": "V100", "10de:1eb8": "T4",
    "10de:20b0": "A100", "10de:20b1": "A100", "10de:20b2": "A100-80GB", "10de:20b5": "A100-80GB", "10de:20f1": "A100",
    "10de:2236": "A10", "10de:2237": "A10G", "10de:26b9": "L40S", "10de:27b8": "L4", "10de:2321": "H100-NVL",
    "10de:2330": "H100", "10de:2335": "H200", "10de:2342": "GH200", "10de:2684": "RTX4090",
    "1002:74a1": "MI300X", "1002:74a9": "MI300X", "1002:74b5": "MI300X",
}  # fmt: skip
"""Canonical names by ``vendor:device``."""
_SUFFIX = re.compile(r"(-SHARED)?(?:-MIG-(INVALID|[0-9][0-9a-z.+]*))?(-SHARED)?$")
_MIG_COUNT = re.compile(r"nvidia\.com/mig-([^/]+)\.count")
_PCI = re.compile(re.escape(NFD) + r"([0-9a-f]{4})_([0-9a-f]{4})(?:_([0-9a-f]{4}))?[^/]*\.present")

NodeLabelMap = Mapping[str, str]


@dataclass(frozen=True)
class DeviceReport:
    """What one source reports about the accelerators of a node."""

    devices: tuple[Device, ...] = ()
    count_source: str = ""
    """The label that says how many there are; empty if none does."""
    count: int = 0
    """How many pieces a device plugin should offer according to that label."""
    troubles: tuple[Trouble, ...] = ()


def report_devices(labels: NodeLabelMap, offered: Mapping[str, int]) -> DeviceReport:
    """The report of the best source; `offered`: pieces by resource, the larger of capacity and allocatable."""
    for source in (_gfd, _amd, _pci):
        found = source(labels, offered)
        if found.devices or found.troubles:
            return found
    return DeviceReport(tuple(_offered_only(offered)))


def model_of(product: str, vendor: str, pci: str | None = "") -> str:
    """The canonical name, else ``vendor:device`` by PCI id, else by what the source calls it."""
    return canonical(product) or PCI_MODELS.get(pci or "") or pci or f"{vendor}:{product or 'unknown'}"


def _gfd(labels: NodeLabelMap, offered: Mapping[str, int]) -> DeviceReport:
    """NVIDIA's GPU feature discovery: whole GPUs, one MIG profile as if whole (single), or each its own (mixed)."""
    read = _Gfd(labels, sum(pieces for resource, pieces in offered.items() if "amd" not in resource))
    if read.invalid:
        text = f"{NVIDIA}gpu.product is {read.product}: MIG is set up on some GPUs, which mig.strategy=single forbids"
        return DeviceReport(troubles=(Trouble(reason="MigInvalid", message=text),))
    whole = [read.device(str(place), read.mig) for place in range(read.count)]
    parts = [read.device(f"{profile}-{place}", profile) for profile, count in read.profiles() for place in range(count)]
    count_source = f"{NVIDIA}gpu.count x gpu.replicas" if read.shares > 1 else f"{NVIDIA}gpu.count"
    return DeviceReport((*whole, *parts), count_source if read.counted else "", read.count * read.shares + len(parts))


class _Gfd:
    """The labels under ``nvidia.com/``."""

    def __init__(self, labels: NodeLabelMap, offered: int) -> None:
        """`offered`: how many there must be where no label counts them."""
        self._labels = labels
        self.product = labels.get(f"{NVIDIA}gpu.product", "")
        found = _SUFFIX.search(self.product)
        self.base = self.product[: found.start()] if found else self.product
        mig = found[2] if found and found[2] else ""
        self.invalid = mig == "INVALID"
        self.mig = "" if self.invalid else mig
        self.counted = f"{NVIDIA}gpu.count" in labels
        self.count = _count(labels.get(f"{NVIDIA}gpu.count")) if self.counted else offered if self.product else 0
        self.shares = max(1, _count(labels.get(f"{NVIDIA}gpu.replicas")))
        self._model = model_of(self.base, "nvidia", _pci_id(labels, "10de"))

    def profiles(self) -> Iterator[tuple[str, int]]:
        for key, value in sorted(self._labels.items()):
            if found := _MIG_COUNT.fullmatch(key):
                yield found[1], _count(value)

    def device(self, name: str, mig: str) -> Device:
        kind = f"mig-{mig}" if mig and mig != self.mig else "gpu"
        sharing = self._labels.get(f"{NVIDIA}gpu.sharing-strategy", "") if self.shares > 1 else ""
        return Device(
            id=name,
            model=self._model,
            source="gfd",
            product=self.product,
            memory_mib=_count(self._labels.get(f"{NVIDIA}{kind}.memory")),
            mig=mig,
            shares=self.shares if kind == "gpu" else 1,
            sharing=sharing if kind == "gpu" else "",
            driver=self._driver(),
        )

    def _driver(self) -> str:
        full = self._labels.get(f"{NVIDIA}cuda.driver-version.full", "")
        parts = (self._labels.get(f"{NVIDIA}cuda.driver.{part}", "") for part in ("major", "minor", "rev"))
        return full or ".".join(filter(None, parts))


def _amd(labels: NodeLabelMap, offered: Mapping[str, int]) -> DeviceReport:
    """AMD's node labeller: a value where all devices are alike, counts by value where they are not."""
    products = _by_value(labels, "product-name") or _by_value(labels, "device-id")
    if not products:
        return DeviceReport()
    uniform = next(iter(products.values())) == 0
    counts = {next(iter(products)): offered.get("amd.com/gpu", 0)} if uniform else products
    driver, partition = (_one(labels, part) for part in ("driver-version", "compute-memory-partition"))
    pci = f"1002:{_one(labels, 'device-id')}" if _one(labels, "device-id") else ""
    devices = [
        Device(
            id=f"{product}-{place}" if len(counts) > 1 else str(place),
            model=model_of(product.replace("_", " "), "amd", pci if uniform else ""),
            source="amd",
            product=product,
            memory_mib=_mib(_one(labels, "vram")),
            partition=partition,
            driver=driver,
        )
        for product, count in sorted(counts.items())
        for place in range(count)
    ]
    return DeviceReport(tuple(devices), "" if uniform else f"{AMD}gpu.product-name", 0 if uniform else len(devices))


def _by_value(labels: NodeLabelMap, part: str) -> dict[str, int]:
    """Each value of one of AMD's labels, with how many devices have it; 0: all."""
    for prefix in (AMD, f"beta.{AMD}"):
        key = f"{prefix}gpu.{part}"
        if key in labels:
            return {labels[key]: 0}
        found = {k[len(key) + 1 :]: _count(v) for k, v in labels.items() if k.startswith(f"{key}.") and _count(v)}
        if found:
            return found
    return {}


def _one(labels: NodeLabelMap, part: str) -> str:
    values = _by_value(labels, part)
    return next(iter(values)) if len(values) == 1 else ""


def _pci(labels: NodeLabelMap, offered: Mapping[str, int]) -> DeviceReport:
    """Node feature discovery reports that there is a device, not how many."""
    for vendor, name in VENDORS.items():
        pci = _pci_id(labels, vendor)
        if pci is None:
            continue
        count = sum(pieces for resource, pieces in offered.items() if resource.startswith(f"{name}.com/"))
        device = Device(id="0", model=model_of("", name, pci or f"{vendor}:unknown"), source="pci", pci=pci)
        text = f"a device of PCI vendor {vendor} is there, and no device plugin offers it"
        missing = () if count else (Trouble(reason="NoDevicePlugin", message=text),)
        return DeviceReport(tuple(_numbered(device, max(1, count))), troubles=missing)
    return DeviceReport()


def _pci_id(labels: NodeLabelMap, vendor: str) -> str | None:
    """``vendor:device`` if it is known; empty if only the vendor is; None if there is no device."""
    known: str | None = None
    for key in labels:
        found = _PCI.fullmatch(key) if key.startswith(NFD) else None
        if found and found[1] in CLASSES and found[2] == vendor:
            known = f"{vendor}:{found[3]}" if found[3] else known or ""
    return known


def _offered_only(offered: Mapping[str, int]) -> Iterator[Device]:
    """Devices of which only the resource is known, not the model."""
    for resource, pieces in sorted(offered.items()):
        vendor, _, kind = resource.partition(".com/")
        mig = kind.removeprefix("mig-") if kind.startswith("mig-") else ""
        one = Device(id=mig or "gpu", model=f"{vendor}:unknown", source="allocatable", mig=mig)
        yield from _numbered(one, pieces)


def _numbered(device: Device, count: int) -> Iterator[Device]:
    head = f"{device.id}-" if device.id not in ("0", "gpu") else ""
    for place in range(count):
        yield _replaced(device, f"{head}{place}")


def _replaced(device: Device, name: str) -> Device:
    return Device(id=name, model=device.model, source=device.source, mig=device.mig, pci=device.pci)


def _count(text: str | None) -> int:
    """A count; 0 for any other text: a label is a hint, and is compared with what the node offers."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else 0


def _mib(text: str) -> int:
    """AMD writes memory as ``64G`` or ``512M``."""
    scale = {"G": 1024, "M": 1, "T": 1024 * 1024}.get(text[-1:].upper(), 0)
    return _count(text[:-1]) * scale


OWN_PREFIX = "alate.dev/"
MODEL = f"{OWN_PREFIX}accelerator"
"""The label by which a pod asks for a model."""
MANAGER = "alate-inventory"
"""The field manager: labels that it owns are ours, others with our prefix are not."""
LONGEST = 63
"""Characters that a label's name or value may have."""

LabelPolicy = Callable[[NodeSeen], Mapping[str, str]]
"""From a node's level to the labels that the node shall have."""


def labels_of(node: NodeSeen) -> dict[str, str]:
    """Per model how many the node offers; if it has one model, also its name, number, memory and source."""
    counts = {model: str(amount.allocatable // 1000) for model, amount in node.models.items()}
    found = {
        f"{OWN_PREFIX}accelerator.{label_text(model, LONGEST - 12)}": count for model, count in sorted(counts.items())
    }
    if len(counts) == 1:
        model, count = next(iter(counts.items()))
        sources = {device.source for device in node.devices}
        sizes = {str(device.memory_mib) for device in node.devices if device.memory_mib}
        found |= {MODEL: label_text(model), f"{OWN_PREFIX}accelerator-count": count}
        found |= _single("accelerator-source", sources) | _single("accelerator-memory-mib", sizes)
    return found


def no_labels(_: NodeSeen) -> dict[str, str]:
    """No labels: those written before are removed."""
    return {}


def own_labels_of(node: Object) -> dict[str, str]:
    """The labels on a Node that are ours, by its ``managedFields``."""
    meta = node["metadata"]
    entries = [entry for entry in meta.get("managedFields") or () if entry.get("manager") == MANAGER]
    owned = {key for entry in entries for key in _owned(entry)}
    return {key: value for key, value in (meta.get("labels") or {}).items() if key in owned} if owned else {}


def _owned(entry: Object) -> Iterable[str]:
    fields = (entry.get("fieldsV1") or {}).get("f:metadata", {}).get("f:labels", {})
    return (key.removeprefix("f:") for key in fields if key != ".")


def _single(name: str, values: set[str]) -> dict[str, str]:
    return {f"{OWN_PREFIX}{name}": next(iter(values))} if len(values) == 1 else {}


def label_text(text: str, longest: int = LONGEST) -> str:
    """``nvidia:unknown`` and ``A100 1g.5gb`` as a label may be written: with dashes."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:longest].strip("-_.")
