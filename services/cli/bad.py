"""What can be wrong with a command has two names, and costs nothing to import."""


class BadInput(Exception):
    """The command was given something it cannot take; the message is one clear sentence."""


class Failed(Exception):
    """The command was understood, and did not come to a good end; the message is one clear sentence."""
