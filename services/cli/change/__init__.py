"""The commands that change or end a running cluster."""
