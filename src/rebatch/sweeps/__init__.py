"""Many runs: named, started, watched and resumed, on one machine or a cluster."""

from rebatch.sweeps._identity import Identity as Identity
from rebatch.sweeps._identity import identities as identities
from rebatch.sweeps._loop import Stopped as Stopped
from rebatch.sweeps._mps import mps as mps
from rebatch.sweeps._process import Options as Options
from rebatch.sweeps._ray import Needs as Needs
from rebatch.sweeps._ray import sweep_on_ray as sweep_on_ray
from rebatch.sweeps._standing import Standing as Standing
from rebatch.sweeps._standing import standing as standing
from rebatch.sweeps._sweep import sweep as sweep
