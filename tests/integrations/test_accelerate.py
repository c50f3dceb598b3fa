"""The plan inside Accelerate, in this process and in two real ones."""

import importlib
import sys

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from accelerate.tracking import GeneralTracker
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import rebatch
from rebatch.data import Dealt, PlannedBatchSampler
from rebatch.errors import InputError
from rebatch.integrations.accelerate import PlannedLoader

ALL = list(range(960))


@pytest.fixture(autouse=True)
def fresh_state():
    yield
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


@pytest.fixture(scope="module")
def ranks(two_processes, tmp_path_factory):
    return two_processes("accelerate_in_two.py", tmp_path_factory.mktemp("two"))


def cycle():
    schedule = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    return rebatch.plan(schedule, epochs=6, examples=960)


def given(loader):
    """Return the samples of every epoch still to come."""
    return {epoch: [i for _, batch in loader for i in batch.tolist()] for epoch in loader.epochs()}


def test_every_epoch_of_a_40_10_20_cycle_is_the_whole_data_once():
    loader = PlannedLoader(Accelerator(cpu=True), range(960), cycle(), num_workers=2)
    lengths = []
    for epoch in loader.epochs():
        lengths.append(len(loader))
        assert sorted(i for _, batch in loader for i in batch.tolist()) == ALL, epoch
    assert lengths == [24, 96, 48, 24, 96, 48]


def test_a_state_saved_inside_an_epoch_gives_the_samples_that_remain(tmp_path):
    accelerator = Accelerator(cpu=True)
    loader = PlannedLoader(accelerator, range(960), cycle(), seed=3, micro_batch_size=4)
    loader.set_epoch(1)
    seen = []
    for piece, batch in loader:
        seen += batch.tolist()
        if piece.last and piece.updates_done == 50:
            break
    accelerator.save_state(str(tmp_path))
    fresh = Accelerator(cpu=True)
    other = PlannedLoader(fresh, range(960), cycle(), seed=3, micro_batch_size=40)
    fresh.load_state(str(tmp_path))
    remaining = given(other)
    assert sorted(remaining) == [1, 2, 3, 4, 5]
    assert len(remaining[1]) == 460
    assert sorted(seen + remaining[1]) == ALL
    assert sorted(remaining[2]) == ALL


def test_a_state_saved_inside_an_update_starts_that_update_again():
    loader = PlannedLoader(Accelerator(cpu=True), range(960), cycle(), micro_batch_size=4)
    walk = iter(loader)
    for _ in range(13):
        piece, _ = next(walk)
    assert (piece.update, piece.last) == (1, False)
    assert loader.state_dict()["samples"] == 40


def test_after_a_whole_epoch_the_next_one_comes():
    loader = PlannedLoader(Accelerator(cpu=True), range(960), cycle())
    list(loader)
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert state["samples"] == 960
    assert next(loader.epochs()) == 1
    assert len(loader) == 96


def test_a_run_that_is_resumed_goes_on_as_it_would_have_with_dropout_too(tmp_path):
    straight = train(tmp_path, resume=False)
    assert torch.equal(train(tmp_path, resume=True), straight)


def train(folder, *, resume):
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True)
    plan = rebatch.plan(rebatch.cyclical(5, width=1, steps=2), epochs=2, examples=60)
    inputs = torch.linspace(-1, 1, 60).unsqueeze(1)
    loader = PlannedLoader(accelerator, TensorDataset(inputs, inputs.sin()), plan)
    model = nn.Sequential(nn.Linear(1, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
    if resume:
        accelerator.load_state(str(folder))
    for _ in loader.epochs():
        for piece, (x, y) in loader:
            accelerator.backward(nn.functional.mse_loss(model(x), y) * piece.weight)
            optimizer.step()
            optimizer.zero_grad()
            if not resume and piece.update == 6:
                accelerator.save_state(str(folder))
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


class Notes(GeneralTracker):
    name = "notes"
    requires_logging_directory = False

    def __init__(self):
        self.lines = []

    @property
    def tracker(self):
        return self.lines

    def store_init_configuration(self, values):
        pass

    def log(self, values, step=None, **kwargs):
        self.lines.append((step, values["batch_size"]))


def test_the_batch_size_and_the_update_of_a_piece_are_there_to_log():
    notes = Notes()
    accelerator = Accelerator(cpu=True, log_with=notes)
    accelerator.init_trackers("run")
    loader = PlannedLoader(accelerator, range(960), cycle(), micro_batch_size=8)
    for _ in loader.epochs():
        for piece, _ in loader:
            if piece.last:
                accelerator.log({"batch_size": piece.batch_size}, step=piece.update)
    assert [step for step, _ in notes.lines] == list(range(336))
    sizes = [40] * 24 + [10] * 96 + [20] * 48
    assert [size for _, size in notes.lines] == sizes * 2


def test_tokens_set_the_weights():
    plan = rebatch.plan(rebatch.constant(4), epochs=1, examples=4)
    loader = PlannedLoader(
        Accelerator(cpu=True), range(4), plan, micro_batch_size=3, shuffle=False, tokens=sum
    )
    assert [piece.weight for piece, _ in loader] == [0.5, 0.5]


def test_a_data_set_with_epochs_of_its_own_is_told():
    class Told(TensorDataset):
        def set_epoch(self, epoch):
            self.epoch = epoch

    data = Told(torch.arange(960))
    for epoch in PlannedLoader(Accelerator(cpu=True), data, cycle()).epochs():
        assert data.epoch == epoch


class Lines(IterableDataset):
    """Numbers that come one by one; nobody has counted them."""

    def __iter__(self):
        yield from range(400)


def streaming(micro_batch_size, **options):
    """Return a loader of the first 300 numbers: 25 updates of 4, then 13 of up to 16."""
    plan = rebatch.plan(rebatch.thresholds({0: 4, 100: 16}, clock="samples"), samples=300)
    accelerator = Accelerator(cpu=True)
    cut = {"micro_batch_size": micro_batch_size, **options}
    return accelerator, PlannedLoader(accelerator, Dealt(Lines()), plan, **cut)


def test_a_stream_without_a_length_is_read_in_its_order():
    _, loader = streaming(None, collate_fn=lambda samples: torch.tensor(samples) + 1000)
    assert given(loader) == {0: list(range(1000, 1300))}


def test_a_stream_goes_on_inside_its_epoch_with_other_workers(tmp_path):
    accelerator, loader = streaming(5)
    for piece, _ in loader:
        if piece.last and piece.update == 29:
            break
    accelerator.save_state(tmp_path)
    accelerator, again = streaming(None, num_workers=2)
    accelerator.load_state(tmp_path)
    assert given(again) == {0: list(range(180, 300))}


def test_a_stream_has_no_order_but_its_own():
    with pytest.raises(InputError, match="sampler must not be given for a stream, got one"):
        streaming(None, sampler=range(300))


def test_a_stream_has_no_batch_size_but_the_plans():
    with pytest.raises(InputError, match="batch_size must be left to the plan, got 8"):
        streaming(None, batch_size=8)


def test_accumulation_by_the_accelerator_too_is_refused():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    message = "gradient_accumulation_steps must be 1, as micro_batch_size cuts, got 4"
    with pytest.raises(InputError, match=message):
        PlannedLoader(accelerator, range(960), cycle())


def test_a_data_set_of_another_length_is_refused():
    with pytest.raises(InputError, match="dataset must have 960 samples, as the plan has, got 50"):
        PlannedLoader(Accelerator(cpu=True), range(50), cycle())


def test_a_loader_prepared_in_the_usual_way_gives_whole_epochs():
    sampler = PlannedBatchSampler(cycle())
    loader = Accelerator(cpu=True).prepare(DataLoader(range(960), batch_sampler=sampler))
    for updates in (24, 96, 48, 24):
        batches = [batch.tolist() for batch in loader]
        assert len(batches) == updates
        assert sorted(i for batch in batches for i in batch) == ALL


@pytest.mark.parametrize("way", ["alone", "given a rank", "micro"])
def test_two_processes_share_each_update_of_a_loader_prepared_in_the_usual_way(ranks, way):
    for epoch, (updates, size) in enumerate([(24, 40), (96, 10), (48, 20)]):
        first, second = ([*rank[way][epoch]["batches"]] for rank in ranks)
        assert sorted(i for batch in first + second for i in batch) == ALL
        assert len(first) == len(second) == ranks[0][way][epoch]["length"]
        assert ranks[0][way][epoch]["weights"] == pytest.approx(updates)
        if way != "micro":
            assert {len(one) + len(two) for one, two in zip(first, second, strict=True)} == {size}


def test_two_processes_give_whole_epochs_between_them(ranks):
    for epoch in range(6):
        assert sorted(ranks[0]["fed"][str(epoch)] + ranks[1]["fed"][str(epoch)]) == ALL


def test_two_processes_go_on_inside_an_epoch(ranks):
    for rank in ranks:
        assert list(rank["resumed"]) == ["1", "2", "3", "4", "5"]
        assert rank["resumed"]["1"] == rank["fed"]["1"][-230:]
        assert rank["resumed"]["2"] == rank["fed"]["2"]


def test_one_process_goes_on_where_two_were(ranks):
    accelerator = Accelerator(cpu=True)
    loader = PlannedLoader(accelerator, range(960), cycle())
    accelerator.load_state(ranks[0]["folder"])
    remaining = given(loader)
    assert sorted(remaining[1]) == sorted(ranks[0]["resumed"]["1"] + ranks[1]["resumed"]["1"])
    assert sorted(remaining[5]) == ALL


def test_the_gradient_of_pieces_over_two_processes_is_that_of_the_large_batch(ranks):
    weights = torch.tensor(ranks[0]["weights"], dtype=torch.float64)
    assert weights.tolist() == ranks[1]["weights"]
    assert (weights - alone(ranks[0]["data"])).abs().max() < 1e-10


def alone(data):
    """Return the weights after the same three updates, each made of one batch."""
    inputs, targets = (torch.tensor(values, dtype=torch.float64) for values in data)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3)).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=3)
    plan = rebatch.plan(rebatch.constant(16), epochs=1, examples=37)
    for indices in PlannedBatchSampler(plan):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs[indices]), targets[indices]).backward()
        optimizer.step()
        scheduler.step()
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def test_a_prepared_scheduler_makes_one_step_an_update_over_two_processes(ranks):
    assert ranks[0]["rates"] == pytest.approx([0.1 * 2 / 3, 0.1 / 3, 0.0])


def test_gradients_are_exchanged_with_the_last_piece_alone(ranks):
    first, second = (rank["held"] for rank in ranks)
    assert [last for last, _ in first] == [False, False, True] * 2 + [True]
    assert all((one == two) == last for (last, one), (_, two) in zip(first, second, strict=True))


def test_without_accelerate_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)
    monkeypatch.delitem(sys.modules, "rebatch.integrations.accelerate")
    with pytest.raises(ImportError, match=r"pip install 'rebatch\[accelerate\]'"):
        importlib.import_module("rebatch.integrations.accelerate")


def test_the_example_trains_and_goes_on_where_it_was(run_example, tmp_path):
    printed = run_example("accelerate_loop.py", tmp_path)
    assert [line[:22] for line in printed] == [
        f"epoch {epoch}: batch size {size}" for epoch, size in enumerate((40, 10, 20) * 2)
    ]
    assert run_example("accelerate_loop.py", tmp_path) == printed[-1:]
