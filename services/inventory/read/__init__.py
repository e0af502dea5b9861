"""Pure readings of nodes, pods and devices."""
