"""."""

from rebatch.data._columns import Segment as Segment
from rebatch.data._columns import TokenColumns as TokenColumns
