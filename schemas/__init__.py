"""Messages, states and custom resources of alate as pure data; imports nothing else of alate."""
