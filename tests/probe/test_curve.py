import pytest
import torch

from rebatch.engine.state import Progress, Tally
from rebatch.probe._curve import Curve, Point, reached


def falling(batch_size: int) -> list[Point]:
    """A loss that falls by 1 every 100 samples, from 20 on, over 1,280 samples."""
    places = range(0, 1280, batch_size)
    return [Point(place, batch_size, 20 - place / 100) for place in places]


@pytest.mark.parametrize("batch_size", [1, 10, 64, 320])
def test_the_same_course_reaches_the_same_loss_at_every_batch_size(batch_size):
    assert reached(falling(batch_size)) == pytest.approx(20 - 960 / 100)


def test_noise_is_averaged_over_the_second_half():
    points = [Point(0, 10, 50.0), Point(10, 10, 50.0)]
    points += [Point(20 + 5 * number, 5, 2.0 + (-1) ** number) for number in range(4)]
    assert reached(points) == pytest.approx(2.0, abs=0.45)


def test_a_single_late_loss_stands_for_itself():
    assert reached([Point(0, 6, 3.0), Point(6, 4, 1.0)]) == 1.0


def test_losses_are_read_from_the_sums_of_each_epoch():
    curve = Curve()
    sums = [(3, 10, 20.0), (3, 15, 25.0), (4, 10, torch.tensor(5.0))]
    for epoch, samples, loss in sums:
        curve.watch(Progress(epoch=epoch, tally=Tally(loss=loss, samples=samples)), 0.1)
    assert curve.points() == [Point(0, 10, 2.0), Point(10, 5, 1.0), Point(15, 10, 0.5)]
