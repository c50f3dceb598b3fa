"""Schedules: frozen values that give a batch size for every position of training."""

from rebatch.schedules._combinators import clamp as clamp
from rebatch.schedules._combinators import join as join
from rebatch.schedules._combinators import multiple_of as multiple_of
from rebatch.schedules._combinators import repeat as repeat
from rebatch.schedules._constant import constant as constant
from rebatch.schedules._cyclical import cyclical as cyclical
from rebatch.schedules._cyclical import triangular as triangular
from rebatch.schedules._function import from_function as from_function
from rebatch.schedules._notation import parse as parse
from rebatch.schedules._ramps import exponential as exponential
from rebatch.schedules._ramps import linear as linear
from rebatch.schedules._ramps import polynomial as polynomial
from rebatch.schedules._schedule import Clock as Clock
from rebatch.schedules._schedule import Schedule as Schedule
from rebatch.schedules._schedule import Stair as Stair
from rebatch.schedules._staircase import adabatch as adabatch
from rebatch.schedules._staircase import milestones as milestones
from rebatch.schedules._staircase import square_wave as square_wave
from rebatch.schedules._staircase import steps as steps
from rebatch.schedules._thresholds import thresholds as thresholds
from rebatch.schedules._waves import cosine as cosine
from rebatch.schedules._waves import cyclic as cyclic
from rebatch.schedules._waves import one_cycle as one_cycle
