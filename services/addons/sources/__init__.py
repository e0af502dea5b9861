"""Sources of add-ons: charts, manifests and folders, fetched once for all clusters and kept by their digest."""
