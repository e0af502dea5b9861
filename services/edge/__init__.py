"""The edge: what comes in by HTTP is verified, kept, and made into wishes by rules that are data."""
