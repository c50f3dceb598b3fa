"""Policies: frozen values that decide the batch size while training runs."""

from rebatch.policies._absa import absa as absa
from rebatch.policies._auto import auto as auto
from rebatch.policies._gns import gns as gns
from rebatch.policies._plateau import plateau as plateau
from rebatch.policies._policy import Decision as Decision
from rebatch.policies._policy import Outlook as Outlook
from rebatch.policies._policy import Policy as Policy
from rebatch.policies._policy import Seen as Seen
