"""`alate request` and `alate delete`."""
