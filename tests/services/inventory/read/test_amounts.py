"""One device counts once, however many pods may share it and whatever it is partitioned into."""

import pytest

from schemas.inventory import Amount, Device
from services.inventory.read.amounts import by_model, held_accelerators


def amount(pieces, taken=0):
    return Amount(allocatable=1000 * pieces, allocated=1000 * taken, available=1000 * (pieces - taken))


def device(model="H100", **more):
    return Device(id="0", model=model, source="gfd", **more)


@pytest.mark.parametrize(
    ("models", "devices", "counted"),
    [
        ({"H100": amount(8)}, device(), {"H100": 8}),
        ({"H100": amount(16)}, device(shares=2), {"H100": 8}),
        ({"H100 1g.10gb": amount(14)}, device(mig="1g.10gb"), {"H100": 2}),
        ({"H100 1g.10gb": amount(56)}, device(mig="1g.10gb"), {"H100": 8}),
        ({"H100 1g.20gb": amount(32)}, device(mig="1g.20gb"), {"H100": 8}),
        ({"H100 2g.20gb": amount(24)}, device(mig="2g.20gb"), {"H100": 8}),
        ({"H100 3g.40gb": amount(16)}, device(mig="3g.40gb"), {"H100": 8}),
        ({"A100 4g.20gb": amount(8)}, device("A100", mig="4g.20gb"), {"A100": 8}),
        ({"H100 7g.80gb": amount(8)}, device(mig="7g.80gb"), {"H100": 8}),
        ({"H100": amount(6), "H100 1g.10gb": amount(7), "H100 3g.40gb": amount(2)}, device(), {"H100": 8}),
        ({"H100": amount(8), "MI300X": amount(8)}, device(), {"H100": 8, "MI300X": 8}),
        ({"MI300X": amount(64)}, device("MI300X", partition="cpx_nps4"), {"MI300X": 8}),
        ({"MI300X": amount(8)}, device("MI300X", partition="spx_nps1"), {"MI300X": 8}),
        ({"nvidia:unknown 1g.10gb": amount(7)}, device("nvidia:unknown"), {"nvidia:unknown": 1}),
        ({"H100": Amount(allocatable=7500)}, device(), {"H100": 7}),
        ({}, device(), {}),
    ],
)
def test_a_device_counts_once(models, devices, counted):
    assert by_model(models, (devices,)) == counted


@pytest.mark.parametrize(
    ("models", "there", "taken"),
    [
        ({"H100": amount(16, 3)}, {"H100": 16}, 3),
        ({"H100": amount(16, 16)}, {"H100": 8}, 8),
        ({"H100 1g.10gb": amount(14, 14)}, {"H100": 2}, 2),
        ({"H100 1g.10gb": amount(14, 1)}, {"H100": 2}, 1),
        ({"H100": amount(6, 6), "H100 1g.10gb": amount(14, 0)}, {"H100": 8}, 6),
        ({"H100": Amount(allocatable=8000, allocated=460)}, {"H100": 8}, 1),
        ({}, {}, 0),
    ],
)
def test_what_pods_hold_is_told_in_devices(models, there, taken):
    assert held_accelerators(models, there) == taken
