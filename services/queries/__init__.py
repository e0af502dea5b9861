"""What the inventory says is read here into items, one JSON object each, for people and for services alike."""
