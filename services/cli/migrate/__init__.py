"""`alate adopt` and `alate import`: takes over clusters that others created."""
