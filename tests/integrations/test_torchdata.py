"""The plan in torchdata's StatefulDataLoader."""

import importlib
import io
import json
import sys

import pytest
import torch
from torchdata.stateful_dataloader import StatefulDataLoader

import rebatch
from rebatch.data import PlannedBatchSampler, pieces
from rebatch.errors import InputError
from rebatch.integrations.torchdata import PlannedDataLoader

ALL = list(range(960))

pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")


def cycle():
    """Return a plan of 40, 10, 20 over 960 samples: 24, 96 and 48 updates."""
    schedule = rebatch.from_function(lambda epoch: (40, 10, 20)[epoch % 3])
    return rebatch.plan(schedule, epochs=3, examples=960)


def feed(dataset=range(960), *, loader=PlannedDataLoader, micro_batch_size=None, **options):
    sampler = PlannedBatchSampler(cycle(), micro_batch_size=micro_batch_size)
    if loader is PlannedDataLoader:
        return sampler, PlannedDataLoader(dataset, sampler, **options)
    return sampler, loader(dataset, batch_sampler=sampler, **options)


def epoch_of(sampler, loader, epoch):
    """Return the batches of an epoch, or of what remains of it."""
    sampler.set_epoch(epoch)
    return [batch.tolist() for _, batch in pieces(sampler, loader)]


def stopped_after(batches, **options):
    """Return the state after so many batches of epoch 1, read from a file, and the whole epoch."""
    sampler, loader = feed(**options)
    epoch_of(sampler, loader, 0)
    sampler.set_epoch(1)
    seen, file = [], io.BytesIO()
    for number, batch in enumerate(loader, start=1):
        seen.append(batch.tolist())
        if number == batches:
            torch.save(loader.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True), seen


def samples(batches):
    return sorted(index for batch in batches for index in batch)


WORKERS = [
    {"num_workers": 0},
    {"num_workers": 2},
    {"num_workers": 2, "persistent_workers": True},
]


@pytest.mark.parametrize("workers", WORKERS)
def test_every_epoch_of_a_40_10_20_cycle_is_the_whole_data_once(workers):
    sampler, loader = feed(**workers)
    epochs = [epoch_of(sampler, loader, epoch) for epoch in range(3)]
    assert [samples(batches) for batches in epochs] == [ALL, ALL, ALL]
    assert [len(batches) for batches in epochs] == [24, 96, 48]


@pytest.mark.parametrize("kind", [PlannedDataLoader, StatefulDataLoader])
@pytest.mark.parametrize("workers", WORKERS)
def test_a_loaded_state_gives_the_batches_that_remain(kind, workers):
    state, seen = stopped_after(26, loader=kind, **workers)
    sampler, loader = feed(loader=kind, **workers)
    loader.load_state_dict(state)
    assert epoch_of(sampler, loader, 1) == seen[26:]
    assert samples(epoch_of(sampler, loader, 2)) == ALL


@pytest.mark.parametrize(("before", "after"), [(0, 2), (2, 0)])
def test_the_number_of_workers_may_change(before, after):
    state, seen = stopped_after(26, num_workers=before)
    sampler, loader = feed(num_workers=after)
    loader.load_state_dict(state)
    assert epoch_of(sampler, loader, 1) == seen[26:]


def test_a_loaded_state_says_at_once_which_epoch_it_is_in():
    state, _ = stopped_after(26)
    sampler, loader = feed()
    loader.load_state_dict(state)
    assert (sampler.epoch, sampler.updates_before, len(loader)) == (1, 26, 70)


def test_another_epoch_than_the_loaded_one_starts_at_its_beginning():
    state, _ = stopped_after(96)
    sampler, loader = feed()
    loader.load_state_dict(state)
    assert samples(epoch_of(sampler, loader, 2)) == ALL


def test_a_state_inside_an_update_goes_back_to_its_start():
    state, seen = stopped_after(27, micro_batch_size=7)
    sampler, loader = feed(micro_batch_size=7)
    loader.load_state_dict(state)
    assert epoch_of(sampler, loader, 1) == seen[26:]


class Counting(torch.utils.data.Dataset):
    """A data set with a state of its own: how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __len__(self):
        return 960

    def __getitem__(self, index):
        self.asked += 1
        return index

    def state_dict(self):
        return {"asked": self.asked}

    def load_state_dict(self, state):
        self.asked = state["asked"]


def test_the_state_of_the_data_set_is_restored_with_the_position():
    state, seen = stopped_after(26, dataset=Counting())
    sampler, loader = feed(fresh := Counting())
    loader.load_state_dict(state)
    assert epoch_of(sampler, loader, 1) == seen[26:]
    assert fresh.asked == 960 + 960


def test_a_data_set_with_a_state_may_be_taken_to_another_epoch():
    state, _ = stopped_after(26, dataset=Counting())
    sampler, loader = feed(Counting())
    loader.load_state_dict(state)
    assert samples(epoch_of(sampler, loader, 2)) == ALL


def test_the_state_without_workers_is_small_json():
    state, _ = stopped_after(26)
    assert len(json.dumps(state)) < 1000


def test_two_processes_share_every_epoch_and_what_one_has_left(two_processes, tmp_path):
    state, seen = stopped_after(26)
    torch.save(state, tmp_path / "one.pt")
    for rank in two_processes("torchdata_in_two.py", tmp_path / "one.pt"):
        assert rank["fed"] == [ALL, ALL, ALL]
        assert rank["resumed"] == [samples(seen[26:]), ALL]


def test_a_state_of_another_plan_is_refused():
    state, _ = stopped_after(26)
    plan = rebatch.plan(rebatch.constant(40), epochs=3, examples=960)
    loader = PlannedDataLoader(range(960), PlannedBatchSampler(plan))
    with pytest.raises(InputError, match="state must be of plan"):
        loader.load_state_dict(state)


def test_a_state_without_a_position_is_refused():
    plain = StatefulDataLoader(range(960), batch_size=40)
    _, loader = feed()
    with pytest.raises(InputError, match="state_dict must be of a loader with a plan"):
        loader.load_state_dict(plain.state_dict())


def test_states_that_are_not_of_every_batch_are_refused():
    with pytest.raises(InputError, match="snapshot_every_n_steps must be 1 with a plan, got 5"):
        feed(snapshot_every_n_steps=5)


def test_data_of_another_length_is_refused():
    with pytest.raises(InputError, match="dataset must have 960 samples, as the plan has, got 37"):
        feed(range(37))


def test_the_example_trains_and_goes_on_from_its_last_checkpoint(run_example, tmp_path):
    said = [run_example("stateful_dataloader.py", tmp_path / "runs/last.pt") for _ in range(2)]
    updates = [(40, 24), (10, 120), (20, 168), (40, 192), (10, 288), (20, 336)]
    epochs = [f"epoch {n}: batch size {b}, {u} updates" for n, (b, u) in enumerate(updates)]
    assert said == [epochs, epochs[-1:]]


def test_without_torchdata_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "rebatch.integrations.torchdata")
    monkeypatch.setitem(sys.modules, "torchdata.stateful_dataloader", None)
    with pytest.raises(ImportError, match=r"pip install 'rebatch\[torchdata\]'"):
        importlib.import_module("rebatch.integrations.torchdata")
