"""Inventory knows the nodes and accelerators of every cluster, and what the market offers."""
