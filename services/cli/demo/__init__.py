"""`alate demo`: plays the main job on this machine, then proves that nothing is lost, duplicated or left over."""
