"""Reads price catalogs and learns where clouds have room."""
