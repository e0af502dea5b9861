"""`alate trigger`: rules tried out before they are followed."""
