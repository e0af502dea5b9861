"""`alate events`: what was said on the bus, told from the streams alone."""
