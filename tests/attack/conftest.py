"""The stack of the stories."""

from tests.story.conftest import stack

__all__ = ["stack"]
