"""The type of an item: a JSON object."""

from events.kube.port import Object

Item = Object
"""One thing as JSON would have it."""
