"""The demo shows the main job to somebody who has nothing but this machine, and then proves what it showed."""
