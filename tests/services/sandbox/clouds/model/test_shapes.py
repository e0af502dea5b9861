"""A simulated node is as large as the machine that was offered."""

from typing import Any

from schemas.inventory import Offer
from services.sandbox.clouds.model.shapes import shapes


def test_a_shape_is_read_from_any_offer_of_its_instance_type():
    offer: dict[str, Any] = {
        "cloud": "aws",
        "region": "r",
        "instance": "p5.48xlarge",
        "accelerator": "H100",
        "accelerators": 8,
    }
    found = shapes([Offer(**offer, price=55.0, cpu=192.0, memory_gib=2048.0, zone=zone) for zone in "ab"])
    shape = found["p5.48xlarge"]
    assert (shape.cpu, shape.memory_gib, shape.accelerators) == (192.0, 2048.0, 8)
    assert shape.product == "NVIDIA-H100-80GB-HBM3"
