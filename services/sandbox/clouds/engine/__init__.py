"""Runs the simulated controllers: snapshots, actions, timing and billing."""
