"""The laptop: what the real services talk to when there is no real world at hand."""
