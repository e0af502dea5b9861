"""Server-side apply: field sets and managed fields."""
