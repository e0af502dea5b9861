"""The bus on NATS JetStream, and what its server needs: streams, accounts, keys."""
