"""Addons puts what a Colony asks for on its clusters, waits until it is healthy, and takes it away again."""
