"""`alate trigger`: tests rules without requesting anything."""
