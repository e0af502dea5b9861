"""The HTTP server of the edge: connections, routes, callers and problem details."""
