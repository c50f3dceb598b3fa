import pytest
import torch

from rebatch.engine.gauges import NoiseSample
from rebatch.engine.rows import RowSums


def sample(small: float, big: float) -> NoiseSample:
    """Squared norms at 2 and at 4 samples."""
    return NoiseSample(2.0, small, 4.0, big)


def test_the_noise_scale_is_the_ratio_of_the_sums():
    row = RowSums()
    row.measure(sample(5.0, 4.0))  # |G|² = 3, tr(Σ) = 4
    row.measure(sample(4.0, 3.0))  # |G|² = 2, tr(Σ) = 4
    assert row.noise_scale == pytest.approx(8 / 5)


def test_it_is_the_same_where_the_norms_are_still_on_the_device():
    row = RowSums()
    double = torch.float64
    row.measure(sample(torch.tensor(5.0, dtype=double), torch.tensor(4.0, dtype=double)))
    assert isinstance(row.signal, torch.Tensor)
    assert row.noise_scale == pytest.approx(4 / 3)


def test_nothing_is_told_where_nothing_was_measured_or_all_was_noise():
    row = RowSums()
    assert row.noise_scale is None
    row.measure(None)
    row.measure(NoiseSample(4.0, 1.0, 4.0, 1.0))  # a single micro-batch
    assert row.noise_scale is None
    row.measure(sample(5.0, 2.0))  # |G|² = -1
    assert row.noise_scale is None


def test_the_loss_is_averaged_over_all_samples_of_the_row():
    row = RowSums()
    row.finish_epoch(30.0, 10)
    row.finish_epoch(10.0, 30)
    assert row.mean_loss == 1.0


def test_its_values_make_it_again():
    row = RowSums()
    row.measure(sample(torch.tensor(5.0), torch.tensor(4.0)))
    row.finish_epoch(30.0, 10)
    assert row.values() == {
        "loss": 30.0,
        "samples": 10,
        "signal": 3.0,
        "variance": 4.0,
    }
    assert RowSums(**row.values()).noise_scale == row.noise_scale
