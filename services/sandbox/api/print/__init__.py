"""How kubectl prints objects: tables, columns, ages."""
