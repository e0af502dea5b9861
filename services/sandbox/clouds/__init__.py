"""Simulated clouds: they walk real object shapes the way real controllers do, on a clock that comes from outside."""
