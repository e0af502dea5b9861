"""`alate plan` and `alate explain`: where a cluster would go, and why one is where it is."""
