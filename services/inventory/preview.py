"""All that the command line may import of the inventory: how it judges catalogs, counts a cluster and names models."""

from services.inventory.market.catalog_checks import judge
from services.inventory.read.labels import model_of
from services.inventory.watch.cluster_state import ClusterContents

__all__ = ["ClusterContents", "judge", "model_of"]
