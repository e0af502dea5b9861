"""What the command line needs of provisioning to show placements without making them."""

from services.provisioning.market_view import MarketView
from services.provisioning.placement.adoption import nothing_to_adopt
from services.provisioning.placement.predicates import NOTHING_KNOWN, CloudReach, MarketKnowledge
from services.provisioning.placement.preview import Plan, adoption_plan, impossible_plan, knowledge_after, plan
from services.provisioning.placement.supply import OfferIndex

__all__ = [
    "NOTHING_KNOWN",
    "CloudReach",
    "MarketKnowledge",
    "MarketView",
    "OfferIndex",
    "Plan",
    "adoption_plan",
    "impossible_plan",
    "knowledge_after",
    "nothing_to_adopt",
    "plan",
]
