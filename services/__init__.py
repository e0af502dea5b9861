"""The services: each decides by pure functions and carries out the commands that follow."""
