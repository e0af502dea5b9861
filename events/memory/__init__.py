"""The bus in one process, for tests and simulations: the same promises as JetStream, without a server."""
