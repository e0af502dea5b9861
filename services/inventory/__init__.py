"""The inventory: nodes and accelerators of every cluster, and the market's offers."""
