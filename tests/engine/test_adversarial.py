import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from rebatch.engine.adversarial import Adversarial
from rebatch.engine.images import ImageTask
from rebatch.errors import InputError


def test_the_window_is_the_first_half_of_the_epochs():
    attack = Adversarial()
    assert [attack.is_on(epoch, 200) for epoch in (0, 99, 100, 199)] == [True, True, False, False]
    assert [attack.is_on(epoch, 5) for epoch in range(5)] == [True, True, False, False, False]
    assert not Adversarial(share=0).is_on(0, 200)


def test_a_fifth_of_every_update_is_chosen():
    attack = Adversarial(share=0.2)
    assert len(attack.chosen(0, 128)) == 25
    assert len(attack.chosen(0, 1024)) == 204
    assert len(attack.chosen(0, 80)) == 16
    assert attack.chosen(0, 4) == []


@pytest.mark.parametrize("size", [1, 3, 16, 64])
def test_micro_batches_choose_what_the_whole_update_chooses(size):
    attack = Adversarial(share=0.3)
    parts = [
        first + place
        for first in range(0, 100, size)
        for place in attack.chosen(first, min(size, 100 - first))
    ]
    assert parts == attack.chosen(0, 100)


@pytest.mark.parametrize(
    ("field", "value"), [("share", 1.5), ("share", -0.1), ("window", 2), ("epsilon", 0)]
)
def test_bad_settings_are_refused(field, value):
    with pytest.raises(InputError, match=f"^{field} must be "):
        Adversarial(**{field: value})


@pytest.fixture
def network():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)
    )


def attacked(network, images, labels, **settings):
    return Adversarial(**settings).perturb(
        network, images, labels, lambda x, y: cross_entropy(network(x), y), first=0
    )


def test_chosen_images_move_by_epsilon_up_their_loss_and_the_others_stay(network, pictures):
    images, labels = pictures[0].float() / 255, pictures[1]
    moved = attacked(network, images, labels, share=0.5, epsilon=0.01)
    steps = (moved - images).flatten(1).abs()
    changed = steps.amax(1) > 0
    assert changed.tolist() == [False, True] * 20
    assert torch.allclose(steps[1::2].amax(1), torch.tensor(0.01))
    network.eval()
    with torch.no_grad():
        clean, hit = (cross_entropy(network(x), labels, reduction="none") for x in (images, moved))
    assert torch.equal(hit[::2], clean[::2])
    assert bool((hit > clean)[1::2].all())


def test_moved_images_stay_between_0_and_1(network, pictures):
    images = torch.cat([torch.zeros(20, 3, 8, 8), torch.ones(20, 3, 8, 8)])
    moved = attacked(network, images, pictures[1], share=1.0, epsilon=0.3)
    assert moved.min().item() == 0.0
    assert moved.max().item() == 1.0
    assert not torch.equal(moved, images)


def test_the_gradient_is_taken_in_evaluation_mode_and_leaves_no_trace(network, pictures):
    images, labels = pictures[0].float() / 255, pictures[1]
    network.train()
    network[4].weight.grad = kept = torch.ones(2, 144)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    attacked(network, images, labels, share=1.0)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert network.training
    assert network[4].weight.grad is kept
    assert network[0].weight.grad is None


def test_epsilon_is_in_the_scale_of_0_to_1_under_normalisation(pictures, picture_job):
    class Halved(nn.Module):
        def forward(self, images):
            return (images - 0.5) / 0.25

    job = picture_job(
        task={"normalize": Halved(), "adversarial": Adversarial(share=1, epsilon=0.1)}
    )
    seen = []
    job.learner.model.register_forward_pre_hook(lambda model, inputs: seen.append(inputs[0]))
    batch = next(iter(job.learner.task.batches(0, 0)))
    job.learner.update(batch, None, 0.1, measure=False)
    clean, moved = seen
    inside = (clean > -1.5) & (clean < 1.5)
    assert torch.allclose((moved - clean).abs()[inside].max(), torch.tensor(0.4))
    assert moved.min() >= -2
    assert moved.max() <= 2


def test_the_window_switches_batches_over(picture_job):
    job = picture_job(epochs=4, task={"adversarial": Adversarial()})
    flags = [next(iter(job.learner.task.batches(epoch, 0))).attacked for epoch in range(4)]
    assert flags == [True, True, False, False]


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 0.1)])
def test_micro_batches_do_not_change_an_update_under_attack(picture_job, precision, tolerance):
    attack = {"adversarial": Adversarial(share=0.4, epsilon=0.05)}

    def moved(task=None, micro=None):
        settings = {"micro_batch_size": micro, "precision": precision}
        job = picture_job(code="BL", base=16, task=task, learner=settings)
        start = flat(job.learner.model)
        for batch in job.learner.task.batches(0, 0):
            job.learner.update(batch, None, 0.1, measure=False)
        return flat(job.learner.model) - start

    whole, pieces, clean = moved(attack), moved(attack, micro=4), moved()
    assert (whole - pieces).norm() < tolerance * whole.norm()
    assert (whole - clean).norm() > 0.3 * whole.norm()


def flat(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_batches_outside_the_window_are_left_as_they_are(picture_job):
    job = picture_job(task={"adversarial": Adversarial(share=1, epsilon=0.2)})
    task: ImageTask = job.learner.task
    batch = next(iter(task.batches(0, 0)))
    spared = batch._replace(attacked=False)
    assert task.prepare(job.learner.model, spared) is spared
    hit = task.prepare(job.learner.model, batch)
    job.learner.model.eval()
    losses = [task.loss(job.learner.model, each, None).mean for each in (hit, spared)]
    assert losses[0] > losses[1]
