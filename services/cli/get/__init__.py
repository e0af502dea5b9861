"""`alate get`: what it shows of each kind."""
