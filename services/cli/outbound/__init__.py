"""`alate outbound`: who outside is told what, and what is missing for it."""
