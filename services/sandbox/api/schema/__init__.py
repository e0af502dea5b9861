"""Kinds, schemas and validation, discovery and OpenAPI."""
