"""The web page at the edge's root: the fleet, each cluster, the flow of messages, and the dead letters."""
