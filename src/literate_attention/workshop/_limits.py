"""How long the code of readers may take, and with which exit code its process ends if it takes longer."""

PATIENCE = 600.0
"""How many seconds of the clock a busy computer may take for a piece, or a file."""

WAITING = 60.0
"""After how many seconds of the clock code ends that does nothing, where the system tells it from code that
waits for its turn: nobody who judges a class waits for ten minutes each."""

TIME_IS_OVER, IT_WAITS, TOO_BUSY = 124, 125, 126
"""The exit codes of a process whose code works too long, does nothing for long, or hardly gets its turn."""
