"""Clients that several services share: workload clusters, price catalogs, Colonies."""
