"""The reconcile loop that every entity service runs on, with its work queue, read models and publishers."""
