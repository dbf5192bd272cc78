"""The parts of bench/peer_numpy.py: the same algorithms in numpy, and truthfed's figures beside them.

The modules import numpy, so the environment variables that limit its threads must be set before.
"""
