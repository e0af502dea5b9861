"""The catalog: a tested recipe for each add-on that AI clusters need, and the planner that orders them."""
