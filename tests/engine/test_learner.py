import pytest
import torch
from torch import nn

import rebatch
from rebatch.engine.images import ImageTask
from rebatch.engine.language import LanguageTask
from rebatch.engine.learner import Learner
from rebatch.engine.task import Batch
from rebatch.errors import RunError
from rebatch.models import GroupedBatchNorm2d, LanguageModel

CPU = torch.device("cpu")


def flat(model: nn.Module) -> torch.Tensor:
    return torch.cat([value.detach().double().flatten() for value in model.state_dict().values()])


def image_learner(pictures, model: nn.Module, **settings) -> tuple[Learner, Batch]:
    """A learner in float64, and an update of 20 samples."""
    plan = rebatch.plan(rebatch.constant(20), epochs=1, examples=40)
    task = DoubleTask(pictures, {"test": pictures}, plan, seed=0, device=CPU)
    model.double().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, weight_decay=1e-3)
    return Learner(model, optimizer, task, CPU, **settings), next(iter(task.batches(0, 0)))


class DoubleTask(ImageTask):
    def _scaled(self, images):
        return images.double() / 255

    def _logits(self, model, images):
        return model(images)


def plain() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 8), nn.Tanh(), nn.Linear(8, 2))


def normed(group: int | None = 4) -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3), GroupedBatchNorm2d(4, group), nn.Flatten(), nn.Linear(144, 2)
    return nn.Sequential(*layers)


@pytest.mark.parametrize("micro", [1, 3, 7, 19])
@pytest.mark.parametrize("measure", [False, True])
def test_micro_batches_make_the_update_of_the_whole_batch(pictures, micro, measure):
    results = []
    for size in (None, micro):
        learner, batch = image_learner(pictures, plain(), micro_batch_size=size, clip=0.5)
        outcomes = [learner.update(batch, None, 0.1, measure=measure) for _ in range(2)]
        results.append((flat(learner.model), outcomes[-1]))
    (whole, one), (pieces, two) = results
    torch.testing.assert_close(whole, pieces, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(one.loss, two.loss)
    torch.testing.assert_close(one.norm, two.norm)
    assert one.correct == two.correct


@pytest.mark.parametrize("micro", [4, 8, 12])
def test_batch_norm_over_groups_gives_the_same_update_and_statistics(pictures, micro):
    weights = []
    for size in (None, micro):
        learner, batch = image_learner(pictures, normed(), micro_batch_size=size, group=4)
        for measure in (False, True):
            learner.update(batch, None, 0.1, measure=measure)
        weights.append(flat(learner.model))
    torch.testing.assert_close(*weights, rtol=1e-11, atol=1e-13)


def test_columns_of_text_keep_a_hidden_state_of_their_own():
    tokens = torch.arange(200) % 7
    plan = rebatch.plan(rebatch.constant(6), epochs=1, tokens=200, bptt=5)
    results = []
    for micro in (None, 4):
        torch.manual_seed(0)
        model = LanguageModel(7, 5, dropout=0.0).double()
        task = LanguageTask(tokens, {"valid": tokens}, plan, device=CPU)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        learner = Learner(model, optimizer, task, CPU, clip=0.25, micro_batch_size=micro)
        memory = model.initial_state(6)
        for batch in task.batches(0, 0):
            memory = learner.update(batch, memory, 5.0, measure=False).memory
        results.append((flat(model), *memory))
    for whole, pieces in zip(*results, strict=True):
        torch.testing.assert_close(whole, pieces, rtol=1e-10, atol=1e-12)
    assert results[0][1].shape == (2, 6, 5)


def test_an_update_is_that_of_plain_pytorch(pictures):
    learner, batch = image_learner(pictures, plain())
    model = plain().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    images, labels = batch.inputs[0].double() / 255, batch.targets
    for _ in range(3):
        learner.update(batch, None, 0.1, measure=False)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    torch.testing.assert_close(flat(learner.model), flat(model), rtol=1e-12, atol=1e-14)


def test_the_norm_is_told_before_clipping_and_the_step_is_clipped(pictures):
    rough, batch = image_learner(pictures, plain())
    norm = rough.update(batch, None, 0.1, measure=False).norm
    learner, _ = image_learner(pictures, plain(), clip=float(norm) / 10)
    learner.optimizer.param_groups[0]["weight_decay"] = 0
    start = flat(learner.model)
    assert learner.update(batch, None, 0.1, measure=False).norm == norm
    step = (flat(learner.model) - start).norm()
    assert step.item() == pytest.approx(0.1 * float(norm) / 10, rel=1e-4)


@pytest.mark.parametrize(
    ("size", "micro", "group", "measured"),
    [
        (20, None, 1, 10),  # cut in two
        (21, None, 1, 11),
        (1, None, 1, 1),
        (20, None, 4, 12),  # in whole groups
        (20, None, 32, 20),  # a group larger than the batch cannot be cut
        (20, 8, 4, 8),  # cut anyway
        (20, 20, 1, 10),
        (33, 32, 32, 32),
    ],
)
def test_a_measured_update_is_cut_in_two_in_whole_groups(pictures, size, micro, group, measured):
    learner, _ = image_learner(pictures, plain(), micro_batch_size=micro, group=group)
    assert learner._piece(size, measure=True) == min(size, measured)
    assert learner._piece(size, measure=False) == min(size, micro or size)


def test_noise_is_sampled_where_there_are_two_micro_batches(pictures):
    learner, batch = image_learner(pictures, plain())
    assert learner.update(batch, None, 0.1, measure=False).noise is None
    noise = learner.update(batch, None, 0.1, measure=True).noise
    assert (noise.small_size, noise.big_size) == (10, 20)
    assert noise.small_norm > noise.big_norm > 0


def test_to_measure_a_single_group_of_batch_norm_changes_nothing(pictures):
    ends = []
    for measure in (False, True):
        learner, batch = image_learner(pictures, normed(None), group=20)
        outcome = learner.update(batch, None, 0.1, measure=measure)
        ends.append(learner.model.state_dict())
    assert outcome.noise is not None
    assert (outcome.noise.small_size, outcome.noise.big_size) == (10, 20)
    assert outcome.noise.small_norm > outcome.noise.big_norm > 0
    assert all(torch.equal(value, ends[1][name]) for name, value in ends[0].items())


def test_a_single_sample_has_no_noise_to_measure(pictures):
    learner, batch = image_learner(pictures, plain())
    one = batch._replace(inputs=(batch.inputs[0][:1],), targets=batch.targets[:1])
    assert learner.update(one, None, 0.1, measure=True).noise is None


def test_frozen_parameters_stay_and_do_not_count(pictures):
    model = plain()
    model[1].requires_grad_(False)
    learner, batch = image_learner(pictures, model, clip=0.01)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    outcome = learner.update(batch, None, 0.1, measure=True)
    assert outcome.noise is not None
    now = model.state_dict()
    assert torch.equal(now["1.weight"], start["1.weight"])
    assert not torch.equal(now["3.weight"], start["3.weight"])


class Limited(nn.Module):
    """A model on a device that holds only so many samples."""

    def __init__(self, inner: nn.Module, most: int) -> None:
        super().__init__()
        self.inner, self.most, self.seen = inner, most, []
        self.drop = nn.Dropout(0.5)

    def forward(self, images):
        self.seen.append(len(images))
        out = self.inner(images)
        if len(images) > self.most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return self.drop(out)


def test_running_out_of_memory_halves_the_micro_batch_and_makes_the_same_update(pictures):
    start = normed().double().state_dict()
    results = []
    for most, micro in ((99, 8), (8, None)):
        model = Limited(normed(), most)
        learner, batch = image_learner(pictures, model, micro_batch_size=micro, group=4)
        model.inner.load_state_dict(start)
        torch.manual_seed(1)
        learner.update(batch, None, 0.1, measure=False)
        results.append((flat(model.inner), torch.rand(1), learner, model.seen))
    (whole, drawn, *_), (pieces, drawn_too, learner, seen) = results
    assert torch.equal(whole, pieces)
    assert torch.equal(drawn, drawn_too)
    assert learner.micro_batch_size == 8
    assert seen == [20, 8, 8, 4]
    assert learner.pop_reports() == ["out of memory: micro-batch size is now 8"]
    assert learner.pop_reports() == []


class LimitedByTheProcessor(Limited):
    """A model that asks for more memory than a processor can have."""

    def forward(self, images):
        self.seen.append(len(images))
        torch.empty(2**55 if len(images) > self.most else 1)
        return self.inner(images)


def test_running_out_of_memory_on_a_processor_halves_the_micro_batch_as_well(pictures):
    model = LimitedByTheProcessor(normed(), 8)
    learner, batch = image_learner(pictures, model, group=4)
    learner.update(batch, None, 0.1, measure=False)
    assert (learner.micro_batch_size, model.seen) == (8, [20, 8, 8, 4])


def test_another_fault_of_the_model_is_no_lack_of_memory(pictures):
    learner, batch = image_learner(pictures, nn.Linear(3, 3))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        learner.update(batch, None, 0.1, measure=False)


def test_running_out_of_memory_at_a_size_that_fitted_before_goes_back_as_well(pictures):
    model = Limited(normed(), 99)
    learner, batch = image_learner(pictures, model, group=4)
    other = Limited(normed(), 99)
    beside, _ = image_learner(pictures, other, group=4)
    for number in range(2):
        torch.manual_seed(number)
        learner.update(batch, None, 0.1, measure=False)
        torch.manual_seed(number)
        beside.update(batch, None, 0.1, measure=False)
        model.most, beside.micro_batch_size = 8, 8
    assert torch.equal(flat(model.inner), flat(other.inner))


def test_the_micro_batch_never_becomes_smaller_than_the_group_of_batch_norm(pictures):
    learner, batch = image_learner(pictures, Limited(normed(16), 7), group=16)
    start = flat(learner.model)
    with pytest.raises(RunError) as error:
        learner.update(batch, None, 0.1, measure=False)
    assert str(error.value) == (
        "memory does not suffice for a micro-batch of 16, the group of batch norm: "
        "lower norm_batch_size"
    )
    assert torch.equal(flat(learner.model), start)


def test_memory_for_not_even_one_sample_is_said(pictures):
    learner, batch = image_learner(pictures, Limited(plain(), 0))
    with pytest.raises(RunError, match=r"^memory does not suffice for a micro-batch of 1$"):
        learner.update(batch, None, 0.1, measure=False)
