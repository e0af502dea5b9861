"""HTTP front of the sandbox API: requests, encodings, TLS, and the in-process client."""
