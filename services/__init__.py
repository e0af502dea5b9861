"""What to do about it: one small service per folder, each two pure functions and the calls they ask for."""
