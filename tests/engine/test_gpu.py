"""What only a GPU can show; run with pytest -m gpu."""

import pytest
import torch

import rebatch
from rebatch.data import crop_and_flip
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.images import ImageTask
from rebatch.engine.language import LanguageTask
from rebatch.engine.learner import Learner
from rebatch.engine.state import Progress
from rebatch.engine.task import count
from rebatch.models import CifarResNet, LanguageModel

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype"),
]
GPU = torch.device("cuda")


def picture_learner() -> Learner:
    images = torch.randint(0, 256, (256, 3, 32, 32), dtype=torch.uint8)
    labels = torch.randint(0, 10, (256,))
    plan = rebatch.plan(rebatch.constant(32), epochs=4, examples=256)
    task = ImageTask(
        (images, labels),
        {"test": (images, labels)},
        plan,
        seed=0,
        device=GPU,
        augment=crop_and_flip(padding=4),
        adversarial=Adversarial(),
    )
    model = CifarResNet(10, norm_batch_size=32).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, fused=True)
    return Learner(model, optimizer, task, GPU, precision="bf16", group=32)


def text_learner() -> Learner:
    tokens = torch.randint(0, 50, (8000,))
    plan = rebatch.plan(rebatch.constant(10), epochs=4, tokens=8000, bptt=35)
    task = LanguageTask(tokens, {"valid": tokens}, plan, device=GPU)
    model = LanguageModel(50, 32).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, fused=True)
    return Learner(model, optimizer, task, GPU, precision="bf16", clip=0.25)


@pytest.fixture(autouse=True)
def _waiting_is_allowed_again():
    yield
    torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("make", [picture_learner, text_learner])
def test_nothing_inside_an_epoch_waits_for_the_device(make):
    learner, progress = make(), Progress()
    learner.model.train()
    for epoch in range(2):
        for number, batch in enumerate(learner.task.batches(epoch, 0)):
            # The first epoch warms up; an epoch's order and draws are brought over at its start.
            torch.cuda.set_sync_debug_mode("error" if epoch and number else "default")
            if batch.reset:
                size = count(batch, learner.task.batch_dim)
                progress.memory = learner.task.memory(learner.model, size)
            outcome = learner.update(batch, progress.memory, 0.1, measure=False)
            progress.add(outcome, batch.targets.numel(), learner.clip)
        torch.cuda.set_sync_debug_mode("default")  # the next epoch begins
    assert progress.tally.is_finite()
