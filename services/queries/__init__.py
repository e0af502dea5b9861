"""Inventory queries: levels as JSON items, for people and for services."""
