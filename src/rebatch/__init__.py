"""rebatch: batch-size scheduling for PyTorch.

A schedule gives a batch size for every position of training, a plan turns it into a table of
rows, and everything else (loaders, learning rates, snapshots, reports) reads that table.

>>> import rebatch
>>> schedule = rebatch.parse("CBS-10-3-A", base=128)
>>> plan = rebatch.plan(schedule, epochs=90, examples=50_000)
>>> plan.updates
15420
"""

from rebatch import noise as noise
from rebatch import rates as rates
from rebatch._plan import Plan as Plan
from rebatch._plan import Row as Row
from rebatch._plan import baseline as baseline
from rebatch._plan import plan as plan
from rebatch.errors import InputError as InputError
from rebatch.errors import RunError as RunError
from rebatch.noise import noise_scale as noise_scale
from rebatch.policies import Policy as Policy
from rebatch.policies import absa as absa
from rebatch.policies import auto as auto
from rebatch.policies import gns as gns
from rebatch.policies import plateau as plateau
from rebatch.schedules import Schedule as Schedule
from rebatch.schedules import adabatch as adabatch
from rebatch.schedules import clamp as clamp
from rebatch.schedules import constant as constant
from rebatch.schedules import cosine as cosine
from rebatch.schedules import cyclic as cyclic
from rebatch.schedules import cyclical as cyclical
from rebatch.schedules import exponential as exponential
from rebatch.schedules import from_function as from_function
from rebatch.schedules import join as join
from rebatch.schedules import linear as linear
from rebatch.schedules import milestones as milestones
from rebatch.schedules import multiple_of as multiple_of
from rebatch.schedules import one_cycle as one_cycle
from rebatch.schedules import parse as parse
from rebatch.schedules import polynomial as polynomial
from rebatch.schedules import repeat as repeat
from rebatch.schedules import square_wave as square_wave
from rebatch.schedules import steps as steps
from rebatch.schedules import thresholds as thresholds
from rebatch.schedules import triangular as triangular

__version__ = "0.1.0"
