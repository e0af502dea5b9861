"""Runs the simulated controllers: watches, one step per cluster, carries out their actions."""
