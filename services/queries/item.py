"""An item is what JSON would have of one thing."""

from events.kube.port import Object

Item = Object
"""One thing as JSON would have it."""
