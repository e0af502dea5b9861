"""The local stack is real processes, so that a laptop runs what a data centre runs."""
