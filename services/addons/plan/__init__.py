"""Which add-ons profiles want each cluster to have: matched purely, and published as one level per cluster."""
