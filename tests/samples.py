"""One pool, and what a market sold for it, for tests to which it does not matter which."""

from schemas.cluster import Lot
from schemas.wish import Pool

POOL = Pool(name="workers", accelerator="H100", accelerators_per_node=8, nodes=2)
LOT = Lot(
    pool=POOL.name,
    instance="p5.48xlarge",
    zone="use1-az5",
    accelerator=POOL.accelerator,
    accelerators_per_node=POOL.accelerators_per_node,
    nodes=POOL.nodes,
    price_per_hour=14.25,
    spot=True,
)
