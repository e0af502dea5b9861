"""How a person gets into the clusters of a Colony."""
