"""What a management cluster holds before the first Colony: kinds, templates, credentials."""
