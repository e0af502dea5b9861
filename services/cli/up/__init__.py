"""`alate up`: the local stack, run in a folder until it is stopped."""
