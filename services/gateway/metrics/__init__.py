"""Gauges of the gateway: entities per state, accelerators and cost of the fleet."""
