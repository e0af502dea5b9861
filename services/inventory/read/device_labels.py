"""Labels that discovery tools write on nodes become accelerators, each with the source that told of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schemas.accelerators import canonical
from schemas.inventory import Device, Trouble

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

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Told:
    """What one source tells of a node's accelerators."""

    devices: tuple[Device, ...] = ()
    what: str = ""
    """Which words of it say how many there are; empty if none do."""
    units: int = 0
    """How many pieces a device plugin should offer then."""
    troubles: tuple[Trouble, ...] = ()


def told(labels: Labels, offered: Mapping[str, int]) -> Told:
    """The best that labels tell; `offered`: pieces by resource, the larger of capacity and allocatable."""
    for source in (_gfd, _amd, _pci):
        found = source(labels, offered)
        if found.devices or found.troubles:
            return found
    return Told(tuple(_bare(offered)))


def model_of(product: str, vendor: str, pci: str | None = "") -> str:
    """The canonical name, else ``vendor:device`` by PCI id, else by what the source calls it."""
    return canonical(product) or PCI_MODELS.get(pci or "") or pci or f"{vendor}:{product or 'unknown'}"


def _gfd(labels: Labels, offered: Mapping[str, int]) -> Told:
    """NVIDIA's GPU feature discovery: whole GPUs, one MIG profile as if whole (single), or each its own (mixed)."""
    read = _Gfd(labels, sum(pieces for resource, pieces in offered.items() if "amd" not in resource))
    if read.invalid:
        text = f"{NVIDIA}gpu.product is {read.product}: MIG is set up on some GPUs, which mig.strategy=single forbids"
        return Told(troubles=(Trouble(reason="MigInvalid", message=text),))
    whole = [read.device(str(place), read.mig) for place in range(read.count)]
    parts = [read.device(f"{profile}-{place}", profile) for profile, count in read.profiles() for place in range(count)]
    what = f"{NVIDIA}gpu.count x gpu.replicas" if read.shares > 1 else f"{NVIDIA}gpu.count"
    return Told((*whole, *parts), what if read.counted else "", read.count * read.shares + len(parts))


class _Gfd:
    """The labels under ``nvidia.com/``."""

    def __init__(self, labels: Labels, offered: int) -> None:
        """`offered`: how many there must be where no label counts them."""
        self._labels = labels
        self.product = labels.get(f"{NVIDIA}gpu.product", "")
        found = _SUFFIX.search(self.product)
        self.base = self.product[: found.start()] if found else self.product
        mig = found[2] if found and found[2] else ""
        self.invalid = mig == "INVALID"
        self.mig = "" if self.invalid else mig
        self.counted = f"{NVIDIA}gpu.count" in labels
        self.count = _whole(labels.get(f"{NVIDIA}gpu.count")) if self.counted else offered if self.product else 0
        self.shares = max(1, _whole(labels.get(f"{NVIDIA}gpu.replicas")))
        self._model = model_of(self.base, "nvidia", _pci_id(labels, "10de"))

    def profiles(self) -> Iterator[tuple[str, int]]:
        for key, value in sorted(self._labels.items()):
            if found := _MIG_COUNT.fullmatch(key):
                yield found[1], _whole(value)

    def device(self, name: str, mig: str) -> Device:
        kind = f"mig-{mig}" if mig and mig != self.mig else "gpu"
        sharing = self._labels.get(f"{NVIDIA}gpu.sharing-strategy", "") if self.shares > 1 else ""
        return Device(
            id=name,
            model=self._model,
            source="gfd",
            product=self.product,
            memory_mib=_whole(self._labels.get(f"{NVIDIA}{kind}.memory")),
            mig=mig,
            shares=self.shares if kind == "gpu" else 1,
            sharing=sharing if kind == "gpu" else "",
            driver=self._driver(),
        )

    def _driver(self) -> str:
        full = self._labels.get(f"{NVIDIA}cuda.driver-version.full", "")
        parts = (self._labels.get(f"{NVIDIA}cuda.driver.{part}", "") for part in ("major", "minor", "rev"))
        return full or ".".join(filter(None, parts))


def _amd(labels: Labels, offered: Mapping[str, int]) -> Told:
    """AMD's node labeller: a value where all devices are alike, counts by value where they are not."""
    products = _by_value(labels, "product-name") or _by_value(labels, "device-id")
    if not products:
        return Told()
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
    return Told(tuple(devices), "" if uniform else f"{AMD}gpu.product-name", 0 if uniform else len(devices))


def _by_value(labels: Labels, part: str) -> dict[str, int]:
    """Each value of one of AMD's labels, with how many devices have it; 0: all."""
    for prefix in (AMD, f"beta.{AMD}"):
        key = f"{prefix}gpu.{part}"
        if key in labels:
            return {labels[key]: 0}
        found = {k[len(key) + 1 :]: _whole(v) for k, v in labels.items() if k.startswith(f"{key}.") and _whole(v)}
        if found:
            return found
    return {}


def _one(labels: Labels, part: str) -> str:
    values = _by_value(labels, part)
    return next(iter(values)) if len(values) == 1 else ""


def _pci(labels: Labels, offered: Mapping[str, int]) -> Told:
    """Node feature discovery tells that there is a device, not how many."""
    for vendor, name in VENDORS.items():
        pci = _pci_id(labels, vendor)
        if pci is None:
            continue
        count = sum(pieces for resource, pieces in offered.items() if resource.startswith(f"{name}.com/"))
        device = Device(id="0", model=model_of("", name, pci or f"{vendor}:unknown"), source="pci", pci=pci)
        text = f"a device of PCI vendor {vendor} is there, and no device plugin offers it"
        missing = () if count else (Trouble(reason="NoDevicePlugin", message=text),)
        return Told(tuple(_numbered(device, max(1, count))), troubles=missing)
    return Told()


def _pci_id(labels: Labels, vendor: str) -> str | None:
    """``vendor:device`` if it is told; empty if only the vendor is; None if there is none."""
    known: str | None = None
    for key in labels:
        found = _PCI.fullmatch(key) if key.startswith(NFD) else None
        if found and found[1] in CLASSES and found[2] == vendor:
            known = f"{vendor}:{found[3]}" if found[3] else known or ""
    return known


def _bare(offered: Mapping[str, int]) -> Iterator[Device]:
    """Nothing tells what they are: only that they can be had."""
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


def _whole(text: str | None) -> int:
    """A count; what is none counts as none: a label is a hint, and is compared with what the node offers."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else 0


def _mib(text: str) -> int:
    """AMD writes memory as ``64G`` or ``512M``."""
    scale = {"G": 1024, "M": 1, "T": 1024 * 1024}.get(text[-1:].upper(), 0)
    return _whole(text[:-1]) * scale
