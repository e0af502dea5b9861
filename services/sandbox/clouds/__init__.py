"""Simulated clouds: they change real object shapes as the real controllers do, on a clock that is passed in."""
