"""`alate replay`: a recorded cluster played through the inventory."""
