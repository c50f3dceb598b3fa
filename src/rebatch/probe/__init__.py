"""The critical batch size, measured by branches: short runs from one point of training.

From the weights, optimiser and position that a warm-up ends with, one branch leaves for every
batch size, over the same samples.  The largest size that loses nothing against the base is the
critical one: up to it doubling the batch is free (Merrill et al., 2025, arXiv 2505.23971).
"""

from rebatch.probe._design import Cost as Cost
from rebatch.probe._design import Design as Design
from rebatch.probe._design import design as design
from rebatch.probe._run import laboratory as laboratory
from rebatch.probe._run import run_probe as run_probe
from rebatch.probe._timing import expected_seconds as expected_seconds
from rebatch.probe._verdict import Level as Level
from rebatch.probe._verdict import Verdict as Verdict
from rebatch.probe._verdict import judge as judge
from rebatch.probe._verdict import propose as propose
