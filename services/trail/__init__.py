"""What was said is read back from the streams, for the command line and for the page."""
