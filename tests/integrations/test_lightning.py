"""The plan inside Lightning's Trainer and Fabric, in this process and in two real ones."""

import csv
import importlib
import importlib.util
import sys
from pathlib import Path

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import StochasticWeightAveraging, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader

import rebatch
from rebatch.data import Dealt, PlannedBatchSampler
from rebatch.errors import InputError
from rebatch.integrations.lightning import BatchSizeSchedule

PLACE = Path(__file__).with_name("lightning_in_two.py")
SPEC = importlib.util.spec_from_file_location("lightning_in_two", PLACE)
two = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(two)
Lines, Model, Save, cycle, data, fit = two.Lines, two.Model, two.Save, two.cycle, two.data, two.fit

ALL = list(range(960))
UPDATES = 24 + 96 + 48

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*treespec, LeafSpec:FutureWarning"),
]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """Train once through, and keep the checkpoint of update 50."""
    path = tmp_path_factory.mktemp("one") / "one.ckpt"
    trainer, model = fit(Save(path))
    return trainer, model, path


@pytest.fixture(scope="module")
def streamed(one):
    """Train on a stream, and keep the checkpoint of update 50."""
    path = one[2].with_name("stream.ckpt")
    lines = Lines()
    trainer, model = fit(Save(path), stream=lines)
    return trainer, model, path, lines


@pytest.fixture(scope="module")
def ranks(one, streamed, two_processes):
    """Return what each of two processes finds."""
    return two_processes("lightning_in_two.py", one[2].parent)


def rest(model, epoch):
    """Return the samples after update 50 as the whole run saw them."""
    return model.seen[epoch][-700:] if epoch == 1 else model.seen[epoch]


def logged_by(logger):
    """Return the steps with the batch sizes that a logger has written."""
    with Path(logger.log_dir, "metrics.csv").open() as file:
        return [(int(row["step"]), float(row["batch_size"])) for row in csv.DictReader(file)]


def test_every_epoch_of_a_40_10_20_cycle_is_the_whole_data_once(one):
    trainer, model, _ = one
    assert [sorted(model.seen[epoch]) for epoch in range(3)] == [ALL, ALL, ALL]
    assert model.lengths == {0: 24, 1: 96, 2: 48}
    assert trainer.global_step == UPDATES


def test_the_estimate_of_the_trainer_is_the_updates_planned(one):
    trainer, model, _ = one
    assert model.estimate == UPDATES
    assert trainer.lr_scheduler_configs[0].scheduler.get_last_lr() == [0.0]


def test_persistent_workers_are_fed_the_same_samples(one):
    schedule = BatchSizeSchedule(cycle())
    model = Model(schedule)
    loader = schedule.loader(data(), num_workers=2, persistent_workers=True)
    two.trainer_of(schedule).fit(model, loader)
    assert model.seen == one[1].seen


def test_a_data_set_is_told_the_epoch():
    told = data()
    told.epochs = []
    told.set_epoch = told.epochs.append
    schedule = BatchSizeSchedule(cycle())
    two.trainer_of(schedule).fit(Model(schedule), schedule.loader(told))
    assert told.epochs == [0, 1, 2]


class Bars(TQDMProgressBar):
    """The real bar, which notes its total and place at the end of every batch."""

    def __init__(self):
        super().__init__()
        self.shown = []

    def on_train_batch_end(self, *args):
        super().on_train_batch_end(*args)
        self.shown.append((self.train_progress_bar.n, self.train_progress_bar.total))


def test_the_progress_bar_counts_each_epoch_to_its_own_length():
    bars = Bars()
    fit(bars, enable_progress_bar=True)
    assert bars.shown == [(n + 1, length) for length in (24, 96, 48) for n in range(length)]


def test_a_run_resumed_inside_an_epoch_goes_on_with_what_remains(one):
    _, whole, path = one
    bars = Bars()
    trainer, model = fit(bars, resume=path, enable_progress_bar=True)
    assert model.seen == {epoch: rest(whole, epoch) for epoch in (1, 2)}
    assert bars.shown[:70] == [(n + 1, 96) for n in range(26, 96)]
    assert trainer.global_step == UPDATES
    assert torch.equal(model.layer.weight, whole.layer.weight)


@pytest.mark.parametrize("micro_batch_size", [7, 4])
def test_a_run_may_be_resumed_with_other_micro_batches(one, micro_batch_size):
    _, whole, path = one
    trainer, model = fit(resume=path, micro_batch_size=micro_batch_size)
    assert model.seen == {epoch: rest(whole, epoch) for epoch in (1, 2)}
    assert trainer.global_step == UPDATES
    assert torch.allclose(model.layer.weight, whole.layer.weight, rtol=0, atol=1e-12)


def test_a_checkpoint_inside_an_update_goes_back_to_its_start(one, tmp_path):
    path = tmp_path / "inside.ckpt"
    inside = Save(path, when=lambda trainer: trainer.fit_loop.total_batch_idx == 144 + 2 * 26)
    fit(inside, micro_batch_size=7)
    logger = CSVLogger(tmp_path)
    trainer, model = fit(resume=path, micro_batch_size=7, logger=logger, log_every_n_steps=11)
    assert model.seen == {epoch: rest(one[1], epoch) for epoch in (1, 2)}
    assert trainer.global_step == UPDATES
    # Update 120 is the first of 20: a step logged one too high would still be of 10.
    assert logged_by(logger) == [
        *((step, 10) for step in (54, 65, 76, 87, 98, 109)),
        *((step, 20) for step in (120, 131, 142, 153, 164)),
    ]
    assert torch.allclose(model.layer.weight, one[1].layer.weight, rtol=0, atol=1e-12)


@pytest.mark.parametrize("limit", [{}, {"max_epochs": -1, "max_steps": UPDATES}])
@pytest.mark.parametrize(
    "hook",
    ["on_train_epoch_start", "on_train_epoch_end", "on_validation_end", "on_train_batch_end"],
)
def test_a_checkpoint_at_the_edge_of_an_epoch_loses_no_epoch(one, tmp_path, hook, limit):
    path = tmp_path / "edge.ckpt"
    edge = Save(path, hook, lambda trainer: trainer.global_step == 24)
    fit(edge, validate=True, **{**limit, "max_steps": 25})
    for validate in (True, False):
        _, model = fit(resume=path, validate=validate, **limit)
        assert model.seen == {epoch: one[1].seen[epoch] for epoch in (1, 2)}


@pytest.mark.parametrize("stop", [24, 50])
def test_a_run_stopped_by_max_steps_goes_on_where_it_stopped(one, tmp_path, stop):
    trainer, before = fit(max_epochs=-1, max_steps=stop)
    trainer.save_checkpoint(tmp_path / "stopped.ckpt")
    _, after = fit(resume=tmp_path / "stopped.ckpt")
    both = {epoch: before.seen[epoch] + after.seen[epoch] for epoch in range(3)}
    assert both == one[1].seen


def test_a_checkpoint_of_a_crash_counts_the_updates_that_were_made(one, tmp_path):
    class Crash(pl.Callback):
        def on_before_backward(self, trainer, *_):
            if trainer.global_step == 50:
                raise RuntimeError("out of memory")

    path = tmp_path / "crash.ckpt"
    with pytest.raises(RuntimeError, match="out of memory"):
        fit(Crash(), Save(path, "on_exception", lambda _: True), micro_batch_size=7)
    _, model = fit(resume=path)
    assert model.seen == {epoch: rest(one[1], epoch) for epoch in (1, 2)}
    assert torch.allclose(model.layer.weight, one[1].layer.weight, rtol=0, atol=1e-12)


def test_a_trainer_may_go_on_for_more_of_the_plan(one):
    schedule = BatchSizeSchedule(cycle(), micro_batch_size=7)
    model, trainer = Model(schedule), two.trainer_of(schedule, max_epochs=1)
    for epochs in (1, 3):
        trainer.fit_loop.max_epochs = epochs
        trainer.fit(model, schedule.loader(data()))
    assert model.seen == one[1].seen


def test_a_run_without_a_checkpoint_begins_the_epoch_that_one_before_was_resumed_in(tmp_path):
    schedule = BatchSizeSchedule(cycle(epochs=1))

    def train(resume=None, **length):
        model, trainer = Model(schedule), two.trainer_of(schedule, max_epochs=1, **length)
        trainer.fit(model, schedule.loader(data()), ckpt_path=resume)
        return trainer, model.seen[0]

    stopped, begun = train(max_steps=10)
    stopped.save_checkpoint(tmp_path / "stopped.ckpt")
    _, left = train(tmp_path / "stopped.ckpt")
    _, anew = train()
    assert sorted(begun + left) == ALL
    assert anew == begun + left


class Constant(Model):
    """A model with a constant rate."""

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Manual(Constant):
    """A model that updates by itself."""

    automatic_optimization = False

    def training_step(self, batch):
        self.manual_backward(super().training_step(batch))
        if self.schedule.piece.last:
            self.optimizers().step()
            self.optimizers().zero_grad()


def plain(plan):
    """Return the weights that a loop over whole batches comes to."""
    model, dataset = two.layer(), data(plan.examples)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for indices in PlannedBatchSampler(plan):
        optimizer.zero_grad()
        two.loss_of(model, *dataset[indices][1:]).backward()
        optimizer.step()
    return model.weight


CUTS = {
    "one size, the last update partial": (rebatch.constant(16), 5, 4 + 4 + 1),
    "sizes that change inside the epoch": (
        rebatch.from_function(lambda update: (4, 16, 10)[update % 3], clock="updates"),
        4,
        1 + 4 + 3 + 1 + 1,
    ),
}


@pytest.mark.parametrize("kind", [Constant, Manual])
@pytest.mark.parametrize("cut", CUTS)
def test_micro_batches_come_to_the_weights_of_whole_batches(kind, cut):
    sizes, micro_batch_size, batches = CUTS[cut]
    plan = rebatch.plan(sizes, epochs=1, examples=37)
    schedule = BatchSizeSchedule(plan, micro_batch_size=micro_batch_size)
    model, trainer = kind(schedule), two.trainer_of(schedule, max_epochs=1)
    trainer.fit(model, schedule.loader(data(37)))
    assert model.lengths == {0: batches}
    assert trainer.global_step == plan.updates
    assert torch.allclose(model.layer.weight, plain(plan), rtol=0, atol=1e-12)


def test_a_loss_over_tokens_is_weighted_by_tokens():
    class Tokens(Constant):
        def training_step(self, batch):
            numbers, inputs, targets = batch
            counts = numbers[:, None] + 1  # sample i stands for i + 1 tokens
            return ((self.layer(inputs) - targets).pow(2) * counts).sum() / counts.sum()

    plan = rebatch.plan(rebatch.constant(8), epochs=1, examples=20)
    weights = []
    for micro_batch_size in (None, 3):
        schedule = BatchSizeSchedule(
            plan, micro_batch_size=micro_batch_size, tokens=lambda batch: int((batch[0] + 1).sum())
        )
        model = Tokens(schedule)
        two.trainer_of(schedule, max_epochs=1).fit(model, schedule.loader(data(20)))
        weights.append(model.layer.weight)
    assert torch.allclose(*weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("micro_batch_size", [None, 7])
def test_the_batch_size_is_logged_by_update(tmp_path, micro_batch_size):
    logger = CSVLogger(tmp_path)
    fit(logger=logger, log_every_n_steps=24, micro_batch_size=micro_batch_size)
    sizes = [(23, 40), (47, 10), (71, 10), (95, 10), (119, 10), (143, 20), (167, 20)]
    assert logged_by(logger) == sizes


def test_a_module_may_make_the_loader_itself():
    class Own(Model):
        def train_dataloader(self):
            return self.schedule.loader(data())

    schedule = BatchSizeSchedule(cycle())
    model = Own(schedule)
    two.trainer_of(schedule).fit(model)
    assert [sorted(model.seen[epoch]) for epoch in range(3)] == [ALL, ALL, ALL]


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("max_epochs", 4, "max_epochs must be at most the 3 epochs planned, got 4"),
        ("max_epochs", -1, "max_steps must be from 0 to 168, as planned, got -1"),
        ("limit_train_batches", 5, "limit_train_batches must be 1.0 with a plan, got 5"),
        ("overfit_batches", 2, "overfit_batches must be 0 with a plan, got 2"),
        ("accumulate_grad_batches", 2, "accumulate_grad_batches must be 1, .* got 2"),
        ("val_check_interval", 30, "val_check_interval must be at most 24, .* got 30"),
    ],
)
def test_settings_that_contradict_the_plan_are_refused_at_once(setting, value, message):
    with pytest.raises(InputError, match=message):
        fit(**{setting: value})


def test_a_plan_of_another_number_of_samples_is_refused():
    with pytest.raises(InputError, match="dataset must have 960 samples, as the plan has, got 37"):
        BatchSizeSchedule(cycle()).loader(data(37))


def test_a_loader_without_its_callback_is_refused():
    schedule = BatchSizeSchedule(cycle())
    with pytest.raises(InputError, match="callbacks must hold the schedule of the loader"):
        two.trainer_of(pl.Callback()).fit(Model(schedule), schedule.loader(data()))


def test_a_callback_without_its_loader_is_refused():
    schedule = BatchSizeSchedule(cycle())
    with pytest.raises(InputError, match="train_dataloaders must be what"):
        two.trainer_of(schedule).fit(Model(schedule), DataLoader(data(), batch_size=40))


@pytest.mark.filterwarnings("ignore:You are using the `dataloader_iter` step flavor")
def test_a_training_step_that_draws_for_itself_is_refused():
    class Drawing(Model):
        def training_step(self, dataloader_iter):
            raise AssertionError

    schedule = BatchSizeSchedule(cycle())
    with pytest.raises(InputError, match="training_step must take the batch"):
        two.trainer_of(schedule).fit(Drawing(schedule), schedule.loader(data()))


def test_a_callback_that_adds_an_epoch_is_refused_before_training():
    schedule = BatchSizeSchedule(cycle())
    model = Constant(schedule)
    model.norm = torch.nn.BatchNorm1d(3)  # whose averages take an epoch of their own
    trainer = two.trainer_of(schedule, StochasticWeightAveraging(0.1, swa_epoch_start=1))
    with pytest.raises(InputError, match="max_epochs must be at most the 3 epochs planned, got 4"):
        trainer.fit(model, schedule.loader(data()))


def test_a_checkpoint_of_a_run_without_a_plan_is_refused(tmp_path):
    class Bare(Model):
        def training_step(self, batch):
            return two.loss_of(self.layer, *batch[1:])

    schedule = BatchSizeSchedule(cycle())
    bare = two.trainer_of(pl.Callback(), max_epochs=1)
    bare.fit(Bare(schedule), DataLoader(data(), batch_size=960))
    bare.save_checkpoint(tmp_path / "bare.ckpt")
    with pytest.raises(InputError, match="checkpoint must be of a run with BatchSizeSchedule"):
        fit(resume=tmp_path / "bare.ckpt")


def test_fast_dev_run_tries_one_batch():
    _, model = fit(fast_dev_run=True)
    assert len(model.seen[0]) == 40


def together(ranks, run, epoch):
    return sorted(ranks[0][run]["seen"][epoch] + ranks[1][run]["seen"][epoch])


def test_two_processes_share_every_epoch_and_come_to_the_same_weights(one, ranks):
    trained = [rank["trained"] for rank in ranks]
    assert [together(ranks, "trained", epoch) for epoch in "012"] == [ALL, ALL, ALL]
    assert [rank["lengths"] for rank in trained] == [{"0": 24, "1": 96, "2": 48}] * 2
    assert [(rank["estimate"], rank["global_step"]) for rank in trained] == [(168, 168)] * 2
    assert trained[0]["weights"] == trained[1]["weights"]
    assert trained[0]["weights"] == pytest.approx(one[1].layer.weight[0].tolist(), abs=1e-12)


def test_two_processes_go_on_with_what_one_has_left(one, ranks):
    left = sorted(rest(one[1], 1))
    assert [together(ranks, "resumed", epoch) for epoch in "12"] == [left, ALL]
    assert ranks[0]["resumed"]["lengths"] == {"1": 192, "2": 192}
    weights = one[1].layer.weight[0].tolist()
    assert ranks[0]["resumed"]["weights"] == pytest.approx(weights, abs=1e-12)


@pytest.mark.usefixtures("ranks")
def test_one_process_goes_on_with_what_two_have_left(one):
    _, model = fit(resume=one[2].parent / "two.ckpt")
    assert model.seen == {epoch: rest(one[1], epoch) for epoch in (1, 2)}
    assert torch.allclose(model.layer.weight, one[1].layer.weight, rtol=0, atol=1e-12)


def test_a_stream_is_read_in_its_order_every_epoch(streamed):
    trainer, model, _, lines = streamed
    assert model.seen == dict.fromkeys(range(3), ALL)
    assert model.lengths == {0: 24, 1: 96, 2: 48}
    assert (model.estimate, trainer.global_step) == (UPDATES, UPDATES)
    assert lines.epochs == [0, 1, 2]


@pytest.mark.parametrize(("micro_batch_size", "workers"), [(None, 0), (7, 2)])
def test_a_stream_goes_on_inside_its_epoch(streamed, micro_batch_size, workers):
    _, whole, path, _ = streamed
    cut = {"micro_batch_size": micro_batch_size, "workers": workers}
    trainer, model = fit(resume=path, stream=Dealt(Lines()), **cut)
    assert model.seen == {1: ALL[-700:], 2: ALL}
    assert trainer.global_step == UPDATES
    assert torch.allclose(model.layer.weight, whole.layer.weight, rtol=0, atol=1e-12)


class Streaming(Model):
    """A model that makes the loader of its stream itself."""

    def train_dataloader(self):
        return self.schedule.loader(Lines(400), collate_fn=self.stacked)

    def stacked(self, samples):
        self.collated = True
        return [torch.stack(parts) for parts in zip(*samples, strict=True)]


def test_a_stream_without_a_length_is_trained_on_up_to_what_is_planned(tmp_path):
    plan = rebatch.plan(rebatch.thresholds({0: 4, 100: 16}, clock="samples"), samples=300)

    def train(resume=None, **length):
        schedule = BatchSizeSchedule(plan)
        model, trainer = Streaming(schedule), two.trainer_of(schedule, **length)
        trainer.fit(model, ckpt_path=resume, weights_only=bool(resume) or None)
        assert model.collated
        return trainer, model.seen[0]

    stopped, begun = train(max_epochs=-1, max_steps=30)
    stopped.save_checkpoint(tmp_path / "stopped.ckpt")
    whole, left = train(tmp_path / "stopped.ckpt", max_epochs=1)
    assert (begun, left) == (ALL[:180], ALL[180:300])
    assert whole.global_step == plan.updates == 38


def test_a_stream_that_ends_early_ends_its_epoch_and_says_so():
    with pytest.warns(UserWarning, match="stream ended after 900 of the 960 samples planned"):
        trainer, model = fit(stream=Lines(900))
    assert model.seen == dict.fromkeys(range(3), ALL[:900])
    assert trainer.global_step == 23 + 90 + 45


def test_a_checkpoint_of_a_stream_is_refused_for_data_with_indices_and_the_other_way(one, streamed):
    with pytest.raises(InputError, match="must be of a run on a data set with indices"):
        fit(resume=streamed[2])
    with pytest.raises(InputError, match="must be of a run on a stream"):
        fit(resume=one[2], stream=Lines())


def test_a_stream_has_no_order_but_its_own():
    schedule = BatchSizeSchedule(cycle(), sampler=range(960))
    with pytest.raises(InputError, match="sampler must not be given for a stream, got one"):
        schedule.loader(Lines())


def test_two_processes_go_on_with_a_stream_that_one_began(streamed, ranks):
    assert [together(ranks, "streamed", epoch) for epoch in "12"] == [ALL[-700:], ALL]
    weights = streamed[1].layer.weight[0].tolist()
    assert ranks[0]["streamed"]["weights"] == pytest.approx(weights, abs=1e-12)


def test_two_processes_read_a_stream_in_the_order_that_their_workers_draw(ranks):
    assert together(ranks, "shuffled", "0") == ALL
    assert ranks[0]["shuffled"]["seen"]["0"] != sorted(ranks[0]["shuffled"]["seen"]["0"])


def test_a_fabric_loop_sees_every_epoch_whole_and_resumes_inside_one(one, tmp_path):
    whole = two.found_by_fabric(tmp_path / "fabric.ckpt", save=True)
    resumed = two.found_by_fabric(tmp_path / "fabric.ckpt", resume=True)
    assert whole["seen"] == one[1].seen
    assert resumed["seen"] == {epoch: rest(one[1], epoch) for epoch in (1, 2)}
    assert resumed["weights"] == whole["weights"]


def test_fabric_in_two_processes_does_as_in_one(one, ranks, tmp_path):
    alone = two.found_by_fabric(tmp_path / "fabric.ckpt")
    assert [together(ranks, "fabric", epoch) for epoch in "012"] == [ALL, ALL, ALL]
    left = sorted(rest(one[1], 1))
    assert [together(ranks, "fabric resumed", epoch) for epoch in "12"] == [left, ALL]
    for run in ("fabric", "fabric resumed"):
        assert ranks[0][run]["weights"] == pytest.approx(alone["weights"], abs=1e-12)


EPOCHS = [
    "epoch 0: batch size 40, 24 updates",
    "epoch 1: batch size 10, 120 updates",
    "epoch 2: batch size 20, 168 updates",
    "epoch 3: batch size 40, 192 updates",
    "epoch 4: batch size 10, 288 updates",
    "epoch 5: batch size 20, 336 updates",
]


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty")
@pytest.mark.parametrize("example", ["lightning_trainer.py", "lightning_fabric.py"])
def test_the_examples_train_and_go_on_from_their_last_checkpoint(run_example, tmp_path, example):
    place = tmp_path / "run"
    said = [run_example(example, place) for _ in range(2)]
    epochs = [[line for line in lines if line.startswith("epoch")] for lines in said]
    assert epochs == [EPOCHS, EPOCHS[-1:]]


@pytest.mark.parametrize("name", ["lightning", "fabric"])
def test_without_lightning_the_extra_is_named(monkeypatch, name):
    importlib.import_module(f"rebatch.integrations.{name}")
    monkeypatch.delitem(sys.modules, f"rebatch.integrations.{name}")
    for part in ("lightning", "lightning.pytorch", "lightning.fabric"):
        monkeypatch.setitem(sys.modules, part, None)
    with pytest.raises(ImportError, match=r"pip install 'rebatch\[lightning\]'"):
        importlib.import_module(f"rebatch.integrations.{name}")
