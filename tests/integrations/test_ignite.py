"""The plan inside an ignite Engine, in this process and in two real ones."""

import importlib
import importlib.util
import io
import sys
from pathlib import Path

import pytest
import torch
from ignite.engine import Engine, Events
from torch.utils.data import DataLoader

from rebatch.data import PlannedBatchSampler
from rebatch.errors import InputError
from rebatch.integrations.ignite import attach

PLACE = Path(__file__).with_name("ignite_in_two.py")
SPEC = importlib.util.spec_from_file_location("ignite_in_two", PLACE)
two = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(two)
Training, cycle, data = two.Training, two.cycle, two.data

ALL = list(range(960))


@pytest.fixture(scope="module")
def one():
    return Training().run()


@pytest.fixture(scope="module")
def ranks(one, two_processes, tmp_path_factory):
    path = tmp_path_factory.mktemp("one") / "one.pt"
    torch.save(one.saved, path)
    return two_processes("ignite_in_two.py", path)


def rest(training, epoch):
    """Return the samples after update 50 as the whole run saw them."""
    return training.seen[epoch][-700:] if epoch == 1 else training.seen[epoch]


@pytest.mark.parametrize("sizes", [(40, 10, 20), (10, 20, 40), (20, 40, 10)])
def test_every_epoch_of_a_cycle_is_the_whole_data_once(sizes):
    training = Training(cycle(sizes)).run(num_workers=2)
    assert [sorted(training.seen[epoch]) for epoch in range(3)] == [ALL, ALL, ALL]
    assert training.lengths == {epoch: 960 // size for epoch, size in enumerate(sizes)}
    assert (training.engine.state.iteration, training.engine.state.epoch) == (168, 3)


def test_the_engine_ends_with_the_iterations_it_was_told_of(one):
    state = one.engine.state
    assert state.epoch_length * state.max_epochs == 168


def test_a_data_set_is_told_the_epoch():
    told = data()
    told.epochs = []
    told.set_epoch = told.epochs.append
    training = Training()
    loader = DataLoader(told, batch_sampler=training.sampler)
    training.engine.run(loader, max_epochs=3)
    assert told.epochs == [0, 1, 2]


def shown_by(training, saved=None):
    """Return the place, the total and the text of ignite's own bar after every iteration."""
    from ignite.handlers import ProgressBar

    bar, shown = ProgressBar(persist=True, file=io.StringIO()), []
    bar.attach(training.engine, state_attributes=["batch_size"])

    @training.engine.on(Events.ITERATION_COMPLETED)
    def note():
        shown.append((bar.pbar.n, bar.pbar.total, bar.pbar.desc, bar.pbar.postfix))

    training.run(saved)
    return shown


def test_the_progress_bar_counts_each_epoch_to_its_own_length():
    texts = [("Epoch [1/3]: ", 40, 24), ("Epoch [2/3]: ", 10, 96), ("Epoch [3/3]: ", 20, 48)]
    assert shown_by(Training()) == [
        (n + 1, length, text, f"batch_size={size}")
        for text, size, length in texts
        for n in range(length)
    ]


def test_a_run_resumed_inside_an_epoch_goes_on_with_what_remains(one):
    training = Training()
    shown = shown_by(training, one.saved)
    assert training.seen == {epoch: rest(one, epoch) for epoch in (1, 2)}
    assert shown[0] == (27, 96, "Epoch [2/3]: ", "batch_size=10")
    assert len(shown) == 70 + 48
    assert training.engine.state.iteration == 168
    assert training.weights == one.weights


@pytest.mark.parametrize("micro_batch_size", [7, 4])
def test_a_run_may_be_resumed_with_other_micro_batches(one, micro_batch_size):
    training = Training(micro_batch_size=micro_batch_size).run(one.saved)
    assert training.seen == {epoch: rest(one, epoch) for epoch in (1, 2)}
    assert training.weights == pytest.approx(one.weights, abs=1e-12)


def test_a_state_inside_an_update_goes_back_to_its_start(one):
    training = Training(micro_batch_size=7)
    states = []
    inside = Events.ITERATION_COMPLETED(once=144 + 2 * 26 + 1)
    training.engine.add_event_handler(inside, lambda engine: states.append(engine.state_dict()))
    training.run()
    resumed = Training(micro_batch_size=7).run({**training.saved, "engine": states[0]})
    assert resumed.seen == {epoch: rest(one, epoch) for epoch in (1, 2)}


def test_a_state_saved_when_a_step_failed_does_not_count_it(one):
    training, states = Training(), []
    step = training.step

    def failing(engine, batch):
        if engine.state.piece.update == 50:
            raise RuntimeError("out of memory")
        step(engine, batch)

    training.engine._process_function = failing
    training.engine.add_event_handler(
        Events.EXCEPTION_RAISED, lambda engine, _: states.append(engine.state_dict())
    )
    training.run()
    resumed = Training().run({**training.saved, "engine": states[0]})
    assert resumed.seen == {epoch: rest(one, epoch) for epoch in (1, 2)}


@pytest.mark.parametrize("event", [Events.EPOCH_COMPLETED, Events.EPOCH_STARTED])
def test_a_state_at_the_edge_of_an_epoch_goes_on_with_the_next(one, event):
    training, states = Training(), []
    training.engine.add_event_handler(event, lambda engine: states.append(engine.state_dict()))
    training.run()
    first = 1 if event == Events.EPOCH_STARTED else 0
    resumed = Training().run({**training.saved, "engine": states[first]})
    assert resumed.seen == {epoch: one.seen[epoch] for epoch in (1, 2)}


def test_a_run_that_was_interrupted_goes_on(one):
    training = Training()
    once = Events.ITERATION_COMPLETED(once=50)
    training.engine.add_event_handler(once, lambda engine: engine.interrupt())
    training.run()
    assert len(training.seen[1]) == 260
    training.run()
    assert training.seen == one.seen


def test_the_state_is_small_and_loads_with_weights_only(one):
    file = io.BytesIO()
    torch.save(one.saved["engine"], file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    assert state == one.saved["engine"]
    assert len(file.getvalue()) < 2000
    assert type(state["epoch_length"]) is int


def test_more_epochs_than_planned_are_refused():
    training = Training()
    loader = DataLoader(data(), batch_sampler=training.sampler)
    with pytest.raises(InputError, match="max_epochs must be at most the 3 epochs planned, got 4"):
        training.engine.run(loader, max_epochs=4)


def test_another_loader_is_refused():
    with pytest.raises(InputError, match="data must be a loader with the attached sampler"):
        Training().engine.run(DataLoader(data(), batch_size=40), max_epochs=3)


def test_data_of_another_length_is_refused():
    training = Training()
    loader = DataLoader(range(37), batch_sampler=training.sampler)
    with pytest.raises(InputError, match="dataset must have 960 samples, as the plan has, got 37"):
        training.engine.run(loader, max_epochs=3)


def test_more_batches_than_planned_are_refused():
    training = Training()
    loader = DataLoader(data(), batch_sampler=training.sampler)
    # A loader that goes over the epoch a second time, before the engine knows it has ended.
    twice = [batch for batches in (loader, loader) for batch in batches]
    training.engine.add_event_handler(Events.EPOCH_STARTED, lengthen)
    with pytest.raises(InputError, match="data must give the batches planned, got more of them"):
        training.engine.run(twice, max_epochs=3)


def lengthen(engine):
    engine.state.epoch_length = 48


def test_a_position_loaded_past_the_engine_is_refused(one):
    training = Training()
    training.sampler.load_state_dict(one.saved["engine"]["position"])
    with pytest.raises(InputError, match="position must be loaded by the engine"):
        training.run()


def test_a_state_of_an_engine_without_a_plan_is_refused():
    bare = Engine(lambda engine, batch: None)
    bare.run(range(3), max_epochs=1)
    with pytest.raises(InputError, match="state_dict must be of an engine with a plan"):
        Training().engine.load_state_dict(bare.state_dict())


def test_an_engine_under_way_cannot_be_attached():
    bare = Engine(lambda engine, batch: None)
    bare.run(range(3), max_epochs=1)
    with pytest.raises(InputError, match="engine must be attached before its state is loaded"):
        attach(bare, PlannedBatchSampler(cycle()))


def together(ranks, run, epoch):
    return sorted(ranks[0][run]["seen"][epoch] + ranks[1][run]["seen"][epoch])


def test_two_processes_share_every_epoch_and_come_to_the_same_weights(one, ranks):
    assert [together(ranks, "trained", epoch) for epoch in "012"] == [ALL, ALL, ALL]
    assert ranks[0]["trained"]["lengths"] == {"0": 24, "1": 96, "2": 48}
    assert ranks[0]["trained"]["weights"] == ranks[1]["trained"]["weights"]
    assert ranks[0]["trained"]["weights"] == pytest.approx(one.weights, abs=1e-12)


def test_two_processes_go_on_with_what_one_has_left(one, ranks):
    left = sorted(rest(one, 1))
    assert [together(ranks, "resumed", epoch) for epoch in "12"] == [left, ALL]
    assert ranks[0]["resumed"]["lengths"] == {"1": 192, "2": 192}
    assert ranks[0]["resumed"]["weights"] == pytest.approx(one.weights, abs=1e-12)


def test_the_example_trains_and_goes_on_from_its_last_checkpoint(run_example, tmp_path):
    said = [run_example("ignite_engine.py", tmp_path) for _ in range(2)]
    # A bar may be drawn again at its end: dict.fromkeys keeps one of each.
    full = [
        list(dict.fromkeys(line.split("%")[0] for line in lines if "100%" in line))
        for lines in said
    ]
    lengths = [72, 96, 96, 72, 96, 96]
    first = [f"Epoch [{n}/6]: [{length}/{length}] 100" for n, length in enumerate(lengths, 1)]
    assert full == [first, first[-1:]]


def test_without_ignite_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "rebatch.integrations.ignite")
    monkeypatch.setitem(sys.modules, "ignite.engine", None)
    with pytest.raises(ImportError, match=r"pip install 'rebatch\[ignite\]'"):
        importlib.import_module("rebatch.integrations.ignite")
