"""Canonical names of accelerators, read from what clouds, node labels and people call them."""

import re
from collections.abc import Mapping
from difflib import get_close_matches

ACCELERATORS: Mapping[str, tuple[str, ...]] = {
    "A10": ("A10-24GB",),
    "A10G": ("A10G-24GB",),
    # Some markets call cards of 40 and of 80 GB both A100; what is not said to have 80 counts as 40.
    "A100": ("A100-40GB", "A100-SXM4-40GB", "A100-PCIE-40GB"),
    "A100-80GB": ("A100-SXM4-80GB", "A100-PCIE-80GB", "A100-80GB-PCIE"),
    "B200": ("B200-180GB", "B200-SXM"),
    "GH200": ("GH200-480GB", "GH200-96GB"),
    # A cloud's name for the same card with more network, or with the socket spelled out.
    "H100": ("H100-SXM", "H100-MEGA", "H100-80GB", "H100-80GB-HBM3", "H100-SXM5-80GB"),
    # A pair of cards on PCIe: other memory and other links, so another accelerator.
    "H100-NVL": ("H100-94GB", "H100-NVL-94GB"),
    "H200": ("H200-SXM", "H200-141GB"),
    "L4": ("L4-24GB",),
    "L40S": ("L40S-48GB",),
    "MI300X": ("MI300X-192GB", "MI300X-OAM"),
    "P100": ("P100-12GB", "P100-16GB", "P100-PCIE-12GB", "P100-PCIE-16GB", "P100-SXM2-16GB"),
    "RTX4090": ("4090", "RTX4090-24GB"),
    "RTX5090": ("5090", "RTX5090-32GB"),
    "T4": ("T4-16GB",),
    "V100": ("V100-16GB", "V100-32GB", "V100-SXM2-16GB", "V100-SXM2-32GB"),
}
"""Canonical names, each with its other names; spelling is compared as `_plain` normalizes it."""

AMD = ("MI300X",)
"""Accelerators made by AMD; all others are made by NVIDIA."""
BETTER: Mapping[str, tuple[str, ...]] = {"A100": ("A100-80GB",), "H100": ("H100-NVL",)}
"""What some markets sell under a plainer name: Azure's NC40ads_H100_v5, listed with an H100, has the NVL."""
MAKERS: Mapping[str, str] = {"10de": "nvidia", "1002": "amd"}
"""By PCI vendor id."""

_DIGITS = re.compile(r"[0-9]")
_MAKERS = re.compile(r"^(nvidia|amd)?(geforce|tesla|instinct)?")


def _plain(name: str) -> str:
    return _MAKERS.sub("", re.sub(r"[^a-z0-9]", "", name.lower()))


_CANONICAL = {_plain(name): canonical for canonical, others in ACCELERATORS.items() for name in (canonical, *others)}


def canonical(name: str) -> str | None:
    """The one name of an accelerator: ``H100`` for ``h100-sxm`` or ``Nvidia H100``; None if it is unknown."""
    return _CANONICAL.get(_plain(name))


def serves(model: str, wanted: str) -> bool:
    """Whether a node's `model` can be what was bought as `wanted`.

    A model that nobody knows may be any of its maker's; empty: nothing is told, and it may be any at all.
    """
    return any(_may_be(one, wanted) for one in model.split(" + "))


def _may_be(model: str, wanted: str) -> bool:
    if model in ACCELERATORS:
        return model == wanted or model in BETTER.get(wanted, ())
    maker = model.partition(":")[0]
    return model == wanted or MAKERS.get(maker, maker) in ("", "amd" if wanted in AMD else "nvidia")


def resource(name: str) -> str:
    """The resource name under which a kubelet counts an accelerator, by its canonical name."""
    return "amd.com/gpu" if name in AMD else "nvidia.com/gpu"


def nearest(name: str) -> tuple[str, ...]:
    """Up to three known names most like this one, best first; all known names if none is alike.

    Those that begin with the same letters go first: they are of the same make.
    """
    plain = _plain(name)
    alike = get_close_matches(plain, _CANONICAL, n=len(_CANONICAL), cutoff=0.5)
    make = _DIGITS.split(plain, maxsplit=1)[0]
    alike.sort(key=lambda known: not known.startswith(make))
    return tuple(dict.fromkeys(_CANONICAL[plain] for plain in alike))[:3] or tuple(ACCELERATORS)
