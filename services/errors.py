"""What can be wrong with what a person asks for has two names, and costs nothing to import."""


class BadInput(Exception):
    """Something was given that cannot be taken; the message is one clear sentence."""


class Failed(Exception):
    """It was understood, and did not come to a good end; the message is one clear sentence."""
