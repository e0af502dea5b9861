"""Operations on objects: read, write, delete, patch, garbage collection."""
