import pytest
import torch
from torch import Tensor, nn

from rebatch.errors import InputError
from rebatch.models import (
    MLP3,
    CifarResNet,
    GroupedBatchNorm2d,
    LanguageModel,
    alexnet_like,
    has_batch_norm,
    set_norm_batch_size,
)


def run(norm: nn.Module, *batches: Tensor) -> tuple[Tensor, Tensor]:
    """Forward and backward of each batch in turn; outputs and input gradients of all of them."""
    outputs, gradients = [], []
    for batch in batches:
        batch = batch.clone().requires_grad_()
        output = norm(batch)
        (output**3).sum().backward()
        assert batch.grad is not None
        outputs.append(output.detach())
        gradients.append(batch.grad)
    return torch.cat(outputs), torch.cat(gradients)


@pytest.mark.parametrize("norm_batch_size", [None, 6, 7])
def test_one_group_is_bit_identical_to_batch_norm(norm_batch_size: int | None) -> None:
    images = torch.randn(6, 3, 4, 4)
    ours, theirs = GroupedBatchNorm2d(3, norm_batch_size), nn.BatchNorm2d(3)
    for mine, other in zip(run(ours, images), run(theirs, images), strict=True):
        assert torch.equal(mine, other)
    for name, value in theirs.state_dict().items():
        assert torch.equal(ours.state_dict()[name], value)


def test_groups_equal_separate_micro_batches() -> None:
    images = torch.randn(7, 3, 4, 4, dtype=torch.float64)
    grouped, separate = GroupedBatchNorm2d(3, 3).double(), nn.BatchNorm2d(3).double()
    at_once, apart = run(grouped, images), run(separate, images[:3], images[3:6], images[6:])
    for mine, other in zip(at_once, apart, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-12)
    for mine, other in zip(grouped.parameters(), separate.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, rtol=0, atol=1e-12)
    for mine, other in zip(grouped.buffers(), separate.buffers(), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-12)


def test_running_statistics_move_group_after_group() -> None:
    values = torch.tensor([1.0, 3.0, 10.0, 30.0, 100.0]).reshape(5, 1, 1, 1).expand(5, 1, 2, 1)
    norm = GroupedBatchNorm2d(1, norm_batch_size=2)
    norm(values)
    # Means 2, 20, 100 and unbiased variances 4/3, 400/3, 0 at momentum 0.1, from 0 and 1.
    assert norm.running_mean.tolist() == pytest.approx([11.962])
    assert norm.running_var.tolist() == pytest.approx([12.837])
    assert norm.num_batches_tracked.item() == 3


def test_a_sum_is_normalised_and_given() -> None:
    first, second = torch.randn(6, 3, 4, 4), torch.randn(6, 3, 4, 4)
    ours, theirs = GroupedBatchNorm2d(3, 2), GroupedBatchNorm2d(3, 2)
    found, whole = ours.of_sum(first, second, relu=True)
    assert torch.equal(whole, first + second)
    assert torch.equal(found, theirs(whole).relu())
    assert ours.of_sum(first)[1] is first


def test_plain_averages_are_taken_where_layers_are_fused_too() -> None:
    fused, plain = (GroupedBatchNorm2d(3, 2) for _ in range(2))
    images = torch.randn(6, 3, 4, 4)
    fused.fused = True
    for norm in (fused, plain):
        norm.momentum = None  # as `engine.ensemble.reestimate` sets it
        norm.of_sum(images, images)
    assert torch.equal(fused.running_mean, plain.running_mean)
    assert fused.running_mean.all()


def test_evaluation_does_not_depend_on_the_group() -> None:
    images = torch.randn(6, 3, 4, 4)
    norm = GroupedBatchNorm2d(3, norm_batch_size=2)
    norm(images)
    norm.eval()
    grouped = norm(images)
    norm.norm_batch_size = None
    assert torch.equal(grouped, norm(images))
    assert norm.num_batches_tracked.item() == 3


def test_the_state_dict_is_that_of_batch_norm() -> None:
    ours = GroupedBatchNorm2d(3, 2)
    assert list(ours.state_dict()) == [
        "weight",
        "bias",
        "running_mean",
        "running_var",
        "num_batches_tracked",
    ]


def test_channels_last_stays_channels_last() -> None:
    images = torch.randn(6, 3, 4, 4).to(memory_format=torch.channels_last)
    output = GroupedBatchNorm2d(3, norm_batch_size=2)(images)
    assert output.is_contiguous(memory_format=torch.channels_last)


def test_half_precision_input_keeps_full_precision_statistics() -> None:
    norm = GroupedBatchNorm2d(3, norm_batch_size=2)
    with torch.autocast("cpu", torch.bfloat16):
        output = norm(torch.randn(6, 3, 4, 4, dtype=torch.bfloat16))
    assert output.dtype == torch.bfloat16
    assert norm.running_mean.dtype == torch.float32


@pytest.mark.parametrize("micro_batch_size", [3, 6])
def test_a_model_does_not_see_the_micro_batch_when_groups_align(micro_batch_size: int) -> None:
    images = torch.randn(12, 3, 8, 8, dtype=torch.float64)
    whole = CifarResNet(depth=8, norm_batch_size=3).double()
    cut = CifarResNet(depth=8, norm_batch_size=3).double()
    cut.load_state_dict(whole.state_dict())
    for mine, other in zip(
        run(whole, images), run(cut, *images.split(micro_batch_size)), strict=True
    ):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-12)
    for mine, other in zip(whole.parameters(), cut.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-9, atol=1e-9)
    for mine, other in zip(whole.buffers(), cut.buffers(), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-12)


def test_the_group_of_a_built_model_can_be_set() -> None:
    model = alexnet_like(norm_batch_size=128)
    set_norm_batch_size(model, 32)
    norms = [module for module in model.modules() if isinstance(module, GroupedBatchNorm2d)]
    assert [norm.norm_batch_size for norm in norms] == [32, 32]


def test_batch_norm_is_found() -> None:
    assert has_batch_norm(alexnet_like())
    assert has_batch_norm(nn.Sequential(nn.BatchNorm1d(3)))
    assert not has_batch_norm(MLP3())
    assert not has_batch_norm(LanguageModel(10, 4))


@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_a_group_that_is_no_count_is_refused(size: object) -> None:
    with pytest.raises(InputError, match="norm_batch_size must be a whole number of at least 1"):
        GroupedBatchNorm2d(3, size)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="norm_batch_size must be a whole number of at least 1"):
        set_norm_batch_size(alexnet_like(), size)  # type: ignore[arg-type]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_an_update_with_groups_can_be_captured_as_a_cuda_graph() -> None:
    images = torch.randn(12, 3, 16, 16, device="cuda").to(memory_format=torch.channels_last)
    eager = CifarResNet(depth=8, norm_batch_size=4).cuda()
    captured = CifarResNet(depth=8, norm_batch_size=4).cuda()
    captured.load_state_dict(eager.state_dict())
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        with torch.cuda.stream(side):  # the warm-up moves the statistics once, as the replay does
            captured(images).sum().backward()
        torch.cuda.synchronize()
        captured.zero_grad()
        with torch.cuda.graph(graph, stream=side):
            captured(images).sum().backward()
        graph.replay()
        for _ in range(2):
            eager(images).sum().backward()
    for mine, other in zip(captured.buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(mine, other)
