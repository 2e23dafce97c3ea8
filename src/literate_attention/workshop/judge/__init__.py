"""What says whether code is right, and what is wrong with it."""
