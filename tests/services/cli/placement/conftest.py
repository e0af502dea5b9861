"""A bus on which the inventory has said what one region offers."""

import json

import msgspec
import pytest

from events.bus import Message
from events.memory.bus import MemoryBus
from schemas.inventory import Offer, Offers
from schemas.registry import declared

ROWS = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone\n"


@pytest.fixture
def catalog(tmp_path):
    """A file with two good rows and a bad one."""
    file = tmp_path / "aws.csv"
    file.write_text(
        ROWS + "x8,H100,8,96,1000,20.0,8.0,us-east-1,a\n"
        "y8,H100,8,96,1000,10.0,,us-east-1,a\n"
        "z8,H100,8,96,1000,-1,,us-east-1,a\n"
    )
    return str(file)


@pytest.fixture
async def bus():
    offer = Offer(cloud="aws", region="r", instance="x8", accelerator="H100", accelerators=8, price=10.0)
    said = Offers(cloud="aws", region="r", offers=(offer,))
    bus = MemoryBus()
    await bus.publish(Message(declared(Offers).at("aws", "r"), msgspec.json.encode(said)))
    return bus


@pytest.fixture
def colony(tmp_path):
    """Writes a Colony of these clusters, gives the file."""

    def write(*clusters: dict) -> str:
        document = {"apiVersion": "alate.dev/v1alpha1", "kind": "Colony", "metadata": {"name": "train"}}
        file = tmp_path / "colony.yaml"
        file.write_text(json.dumps(document | {"spec": {"clusters": list(clusters)}}))
        return str(file)

    return write
