"""The two errors in what a person asks for; importing them costs nothing."""


class BadInput(Exception):
    """Something was given that cannot be taken; the message is one clear sentence."""


class Failed(Exception):
    """It was understood, and did not come to a good end; the message is one clear sentence."""
