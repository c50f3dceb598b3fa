"""Policies: frozen values that decide the batch size while training runs."""

from rebatch.policies._policy import Decision as Decision
from rebatch.policies._policy import Outlook as Outlook
from rebatch.policies._policy import Policy as Policy
from rebatch.policies._policy import Seen as Seen
