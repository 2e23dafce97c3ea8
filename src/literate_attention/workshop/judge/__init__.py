"""What says whether code is right, and what is wrong with it.

Pieces are judged by :class:`.trials.Judged`, whole attention modules by `attention`, and answers to exercises
by `verdict`.
"""
