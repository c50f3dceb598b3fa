"""Updates as CUDA graphs do what updates by themselves do; run with pytest -m gpu."""

from functools import partial

import pytest
import torch

import rebatch
from rebatch.data import crop_and_flip
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.graphs import WARM_UP
from rebatch.engine.images import ImageTask
from rebatch.engine.language import LanguageTask
from rebatch.engine.learner import Learner
from rebatch.engine.state import Progress
from rebatch.engine.task import count
from rebatch.models import CifarResNet, LanguageModel, WideResNet, alexnet_like, fuse

gpu = pytest.mark.gpu
GPU = torch.device("cuda")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


SETTINGS = (
    (torch.backends.cuda.matmul, "allow_tf32", False),
    (torch.backends.cudnn, "allow_tf32", False),
    (torch.backends.cudnn, "benchmark", False),
    (torch.backends.cudnn, "deterministic", True),
)


@pytest.fixture(autouse=True)
def _the_same_sums():
    """Let graphs and eager updates add up in the same order and in full precision.

    Not by `torch.use_deterministic_algorithms`: it makes ``index_copy`` look at its indices.
    """
    kept = [getattr(backend, name) for backend, name, _ in SETTINGS]
    for backend, name, value in SETTINGS:
        setattr(backend, name, value)
    yield
    for (backend, name, _), value in zip(SETTINGS, kept, strict=True):
        setattr(backend, name, value)


def pictures(
    engine: str,
    *,
    attacked: bool = False,
    micro: int | None = None,
    precision: str = "fp32",
    network=CifarResNet,
) -> Learner:
    torch.manual_seed(0)
    images = torch.randint(0, 256, (200, 3, 32, 32), dtype=torch.uint8)
    labels = torch.randint(0, 10, (200,))
    plan = rebatch.plan(rebatch.parse("CBS-1-2", base=16), epochs=4, examples=200)
    task = ImageTask(
        (images, labels),
        {"test": (images, labels)},
        plan,
        seed=0,
        device=GPU,
        augment=crop_and_flip(padding=4),
        adversarial=Adversarial() if attacked else None,
    )
    model = network(10, norm_batch_size=16).to(GPU, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=1.0, momentum=0.9, nesterov=True, weight_decay=5e-4, fused=True
    )
    return Learner(
        model,
        optimizer,
        task,
        GPU,
        precision=precision,
        micro_batch_size=micro,
        group=16,
        engine=engine,
    )


def text(engine: str, *, dropout: float = 0.0, precision: str = "fp32") -> Learner:
    torch.manual_seed(0)
    tokens = torch.randint(0, 50, (4000,))
    plan = rebatch.plan(rebatch.parse("CBS-1-2", base=5), epochs=4, tokens=4000, bptt=10)
    task = LanguageTask(tokens, {"valid": tokens}, plan, device=GPU, bptt=10)
    model = LanguageModel(50, 32, dropout=dropout).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, fused=True)
    return Learner(model, optimizer, task, GPU, precision=precision, clip=0.25, engine=engine)


def losses(learner: Learner, *, measured: int = 7) -> list[float]:
    """Train four epochs at a falling rate and return what each update tells."""
    progress, found = Progress(), []
    torch.manual_seed(1)
    torch.cuda.manual_seed(1)
    learner.model.train()
    for epoch in range(4):
        for batch in learner.task.batches(epoch, 0):
            if batch.reset:
                size = count(batch, learner.task.batch_dim)
                progress.memory = learner.task.memory(learner.model, size)
            measure = progress.update % measured == 0
            rate = 0.125 / 2**epoch  # the same number in single precision
            outcome = learner.update(batch, progress.memory, rate, measure=measure)
            progress.add(outcome, batch.targets.numel(), learner.clip)
            found.append(float(outcome.loss))
    assert progress.noise.scale is None or progress.noise.scale >= 0
    return found


@gpu
@pytest.mark.parametrize("make", [pictures, text])
def test_graphs_give_the_loss_curve_of_eager_updates(make):
    graphs = make("graphs")
    assert losses(graphs) == pytest.approx(losses(make("eager")), rel=1e-4)
    assert graphs.graphs is not None
    assert graphs.graphs.captures >= 2


@gpu
def test_attacked_updates_in_micro_batches_are_the_same_in_graphs():
    graphs = pictures("graphs", attacked=True, micro=16)
    reference = losses(pictures("eager", attacked=True, micro=16))
    assert losses(graphs) == pytest.approx(reference, rel=1e-4)
    assert graphs.pop_reports() == []
    assert graphs.graphs is not None
    assert graphs.graphs.captures >= 3  # both sizes, and the small one attacked and not


@gpu
def test_graphs_in_bf16_learn_as_eager_updates_though_weights_are_cast_together():
    graphs = pictures("graphs", attacked=True, micro=16, precision="bf16")
    reference = losses(pictures("eager", attacked=True, micro=16, precision="bf16"))
    # The rate is a tensor there: what differs in the last bit now and then rounds another way.
    assert losses(graphs) == pytest.approx(reference, rel=1e-2)
    assert graphs.pop_reports() == []


@gpu
@pytest.mark.parametrize("network", [alexnet_like, CifarResNet, WideResNet])
def test_fused_networks_learn_in_graphs_as_without(network):
    """What a run on one GPU does: kernels of our own, weights cast together, and replayed."""
    found = []
    for engine in ("eager", "graphs"):
        learner = pictures(engine, attacked=True, precision="bf16", network=network)
        fuse(learner.model)
        told = losses(learner)
        norm = next(m for m in learner.model.modules() if hasattr(m, "running_mean"))
        found.append([told, norm.running_mean.tolist(), int(norm.num_batches_tracked)])
    assert learner.graphs is not None
    assert learner.graphs.captures >= 2
    assert learner.pop_reports() == []
    (eager, mean, seen), (graphs, its_mean, its_seen) = found
    assert graphs == pytest.approx(eager, rel=2e-2)
    assert its_mean == pytest.approx(mean, rel=2e-2, abs=1e-3)
    assert its_seen == seen


@gpu
def test_a_fused_language_model_learns_in_graphs_as_without():
    """What L1 and L2 do on one GPU: our recurrence, decoder and loss, with dropout, replayed."""
    found = []
    for engine in ("eager", "graphs"):
        learner = text(engine, dropout=0.5, precision="bf16")
        fuse(learner.model)
        found.append(losses(learner))
    assert learner.graphs is not None
    assert learner.graphs.captures >= 2
    assert learner.pop_reports() == []
    assert found[1] == pytest.approx(found[0], rel=2e-2)


@gpu
@pytest.mark.filterwarnings("ignore")  # of torch.compile's own code
def test_a_compiled_model_learns_as_an_eager_one():
    network = partial(CifarResNet, depth=8)
    learner = pictures("compiled", network=network)
    assert losses(learner) == pytest.approx(losses(pictures("eager", network=network)), rel=1e-2)
    assert learner.graphs is not None
    assert learner.graphs.captures >= 2
    assert learner.pop_reports() == []


@gpu
@pytest.mark.parametrize("fused", [False, True])
def test_dropout_draws_anew_in_every_replay(fused):
    learner = text("graphs", dropout=0.5, precision="bf16" if fused else "fp32")
    if fused:
        fuse(learner.model)
    batch = next(iter(learner.task.batches(0, 0)))
    learner.model.train()
    memory = learner.task.memory(learner.model, 5)
    found = {
        float(learner.update(batch, memory, 0.0, measure=False).loss) for _ in range(WARM_UP + 5)
    }
    assert learner.graphs is not None
    assert learner.graphs.captures == 1
    assert len(found) == WARM_UP + 5


@gpu
def test_a_shape_is_captured_once_and_kept_for_the_next_cycle():
    learner = text("graphs")
    captures = []
    for _ in range(3):
        losses(learner, measured=10**9)
        assert learner.graphs is not None
        captures.append(learner.graphs.captures)
    assert captures == [2, 4, 4]  # both sizes; then their short last batches, warm by then


@gpu
def test_what_is_carried_on_from_a_graph_goes_into_an_ordinary_update():
    eager, graphs = text("eager"), text("graphs")
    found = []
    for learner in (eager, graphs):
        progress = Progress()
        learner.model.train()
        for batch in learner.task.batches(0, 0):  # the last one is shorter than bptt
            if batch.reset:
                progress.memory = learner.task.memory(learner.model, 5)
            outcome = learner.update(batch, progress.memory, 0.1, measure=False)
            progress.add(outcome, batch.targets.numel(), learner.clip)
        assert progress.memory is not None
        found.append(progress.memory[0])
    assert torch.allclose(*found, rtol=1e-4, atol=1e-6)


def curious(engine: str) -> Learner:
    """Return a learner that looks at every loss."""
    learner = text(engine)
    plain = learner.task.loss

    def loss(model, batch, memory):
        found = plain(model, batch, memory)
        assert float(found.mean.detach()) > 0
        return found

    learner.task.loss = loss
    return learner


@gpu
def test_an_update_that_reads_from_the_device_goes_on_without_a_graph():
    learner = curious("graphs")
    assert losses(learner) == pytest.approx(losses(text("eager")), rel=1e-4)
    assert learner.graphs is not None
    assert learner.graphs.captures == 0
    assert any("no CUDA graph" in note for note in learner.pop_reports())


@gpu
def test_a_capture_that_fails_does_no_harm_to_later_ones():
    losses(curious("graphs"))
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    torch.cuda.empty_cache()  # refused while torch takes a capture for still going on
    learner = text("graphs", dropout=0.5)
    losses(learner)
    assert learner.graphs is not None
    assert learner.graphs.captures >= 2
    assert learner.pop_reports() == []


@gpu
def test_forgotten_graphs_are_captured_again_and_learn_the_same():
    learner, reference = text("graphs", dropout=0.5), text("eager", dropout=0.5)
    assert losses(learner) == pytest.approx(losses(reference), rel=1e-4)
    assert learner.graphs is not None
    learner.graphs.forget()  # the seeds of the next line move the state of cuDNN's dropout
    assert learner.graphs.captures == 0
    assert losses(learner) == pytest.approx(losses(reference), rel=1e-4)
    assert learner.graphs.captures >= 2
