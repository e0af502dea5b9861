"""The page at the edge's root: what is said now, each cluster's life, the fleet, and the dead letters."""
