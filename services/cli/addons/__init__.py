"""`alate addons`: the catalog of add-ons, and plans made of it."""
