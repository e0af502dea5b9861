"""The edge: receives HTTP, verifies and stores it, and turns it into requests by rules."""
