"""`alate diff`: what files would change in the management cluster."""
