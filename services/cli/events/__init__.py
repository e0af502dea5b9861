"""`alate events`: reads the streams."""
