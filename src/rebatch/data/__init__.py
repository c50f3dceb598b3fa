"""Feeding: batches as the plan cuts them, from data sets, streams, tensors and token columns."""

from rebatch.data._augment import Augment as Augment
from rebatch.data._augment import Normalize as Normalize
from rebatch.data._augment import crop_and_flip as crop_and_flip
from rebatch.data._columns import Segment as Segment
from rebatch.data._columns import TokenColumns as TokenColumns
from rebatch.data._cut import Piece as Piece
from rebatch.data._pieces import pieces as pieces
from rebatch.data._resizable import ResizableBatchSampler as ResizableBatchSampler
from rebatch.data._sampler import PlannedBatchSampler as PlannedBatchSampler
from rebatch.data._stream import Dealt as Dealt
from rebatch.data._stream import PlannedStream as PlannedStream
from rebatch.data._tensors import TensorLoader as TensorLoader
