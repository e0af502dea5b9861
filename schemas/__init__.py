"""What is said: the messages, states and resources of alate, as pure data that imports nothing else of ours."""
