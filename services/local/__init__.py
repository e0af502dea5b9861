"""The local stack: real processes on one machine, started in order and supervised."""
