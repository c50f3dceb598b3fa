from typing import NamedTuple

import pytest
import torch

import rebatch
from rebatch.data._chunks import cut, joined, length


class Pair(NamedTuple):
    image: torch.Tensor
    label: torch.Tensor


def test_nested_chunks_are_cut_in_every_part():
    chunk = {"pair": Pair(torch.arange(4), torch.arange(4) * 10), "names": ("a", "b", "c", "d")}
    part = cut(chunk, 1, 3)
    assert isinstance(part["pair"], Pair)
    assert part["pair"].label.tolist() == [10, 20]
    assert part["names"] == ("b", "c")


def test_cutting_tensors_copies_nothing():
    chunk = torch.arange(4)
    assert cut(chunk, 1, 3).data_ptr() == chunk[1:].data_ptr()


def test_joining_is_the_inverse_of_cutting():
    chunk = [torch.arange(6).view(3, 2), ["a", "b", "c"]]
    again = joined([cut(chunk, 0, 1), cut(chunk, 1, 3)])
    assert again[0].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert again[1] == ["a", "b", "c"]


def test_parts_of_unequal_length_are_refused():
    with pytest.raises(rebatch.InputError, match="equally many samples"):
        length((torch.zeros(3), torch.zeros(4)))


@pytest.mark.parametrize("chunk", [7, torch.tensor(1), (), {}])
def test_what_has_no_first_dimension_is_refused(chunk):
    with pytest.raises(rebatch.InputError, match="with a first dimension"):
        length(chunk)
