"""What simulated controllers read and want: snapshots, actions, conditions, faults, timing and billing."""
