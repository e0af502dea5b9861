"""Watches the objects of clusters that Triggers name, and publishes for which of them a condition holds."""
