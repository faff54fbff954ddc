"""The steps of a round: choose parents, think of ideas, attempt kernels. `loop.py` puts them in order."""
