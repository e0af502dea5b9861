"""The wire format of the sandbox API: parsed requests, bodies, encodings and Status answers."""
