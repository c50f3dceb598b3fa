"""The plan inside the Trainer, in this process and in two real ones."""

import importlib
import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback

from rebatch.data import Dealt
from rebatch.errors import InputError
from rebatch.integrations.transformers import PlannedTrainer, _source

ALL = list(range(960))
PLACE = Path(__file__).with_name("transformers_in_two.py")
SPEC = importlib.util.spec_from_file_location("transformers_in_two", PLACE)
two = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(two)


class Events(TrainerCallback):
    """Takes note of the ends of epochs and of steps, in the order they come."""

    def __init__(self):
        self.begun, self.ended, self.order = [], [], []

    def on_epoch_begin(self, args, state, control, **_):
        self.begun.append((state.global_step, state.epoch))
        self.order.append("epoch begins")

    def on_step_begin(self, args, state, control, **_):
        self.order.append("step begins")

    def on_step_end(self, args, state, control, **_):
        self.order.append("step ends")

    def on_epoch_end(self, args, state, control, **_):
        self.ended.append((state.global_step, state.epoch))
        self.order.append("epoch ends")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def events():
    return Events()


@pytest.fixture(scope="module")
def straight(folder, events):
    """Return a run of two rounds of 40, 10, 20, that saves a checkpoint in the midst of each."""
    trainer = two.noting(
        folder, 6, callbacks=[events], save_strategy="steps", save_steps=70, disable_tqdm=False
    )
    trainer.train()
    return trainer


@pytest.fixture(scope="module")
def ranks(two_processes, tmp_path_factory):
    place = tmp_path_factory.mktemp("two")
    return [*two_processes("transformers_in_two.py", place), place]


def logged(trainer, name):
    return [(line["step"], line[name]) for line in trainer.state.log_history if name in line]


def test_every_epoch_of_a_40_10_20_cycle_is_the_whole_data_once(straight):
    assert {epoch: sorted(seen) == ALL for epoch, seen in straight.seen.items()} == dict.fromkeys(
        range(6), True
    )


def test_the_trainer_makes_the_updates_of_the_plan(straight):
    assert straight.state.max_steps == straight.state.global_step == 336
    assert straight.state.num_train_epochs == 6


def test_the_scheduler_of_the_trainer_runs_out_with_the_plan(straight):
    rates = dict(logged(straight, "learning_rate"))
    assert rates[168] == pytest.approx(0.01 * (336 - 167) / 336)
    assert straight.lr_scheduler.get_last_lr() == [0.0, 0.0]


def test_the_batch_size_and_the_true_epoch_are_logged(straight):
    sizes = [(56, 10), (112, 10), (168, 20), (224, 10), (280, 10), (336, 20)]
    assert logged(straight, "batch_size") == sizes
    epochs = [epoch for _, epoch in logged(straight, "epoch")]
    assert epochs == pytest.approx([4 / 3, 23 / 12, 3, 13 / 3, 59 / 12, 6, 6])


def test_the_speed_is_that_of_the_samples(straight):
    told = straight.state.log_history[-1]
    samples = told["train_samples_per_second"] * told["train_runtime"]
    assert samples == pytest.approx(5760, rel=1e-3)


def test_epochs_begin_and_end_where_the_plan_has_them(straight, events):
    edges = [(24, 1.0), (120, 2.0), (168, 3.0), (192, 4.0), (288, 5.0)]
    assert events.begun == [(0, 0), *edges]
    assert events.ended == [*edges, (336, 6.0)]


def test_an_epoch_ends_after_its_last_step_and_before_the_next_begins(straight, events):
    end = events.order.index("epoch ends")
    around = ["step ends", "epoch ends", "epoch begins", "step begins"]
    assert events.order[end - 1 : end + 3] == around


def test_the_progress_bar_counts_the_updates_of_the_plan(tmp_path, capfd):
    two.noting(tmp_path, 1, disable_tqdm=False).train()
    assert "24/24" in capfd.readouterr().err


@pytest.mark.parametrize(("step", "epoch", "left"), [(70, 1, 500), (210, 4, 780)])
def test_a_checkpoint_inside_an_epoch_is_resumed_exactly(straight, folder, step, epoch, left):
    trainer = two.noting(folder, 6)
    trainer.train(resume_from_checkpoint=str(folder / f"checkpoint-{step}"))
    assert trainer.seen[epoch] == straight.seen[epoch][-left:]
    assert min(trainer.seen) == epoch
    assert all(trainer.seen[later] == straight.seen[later] for later in range(epoch + 1, 6))
    assert two.weights(trainer.model) == two.weights(straight.model)


def test_a_checkpoint_is_resumed_with_another_micro_batch(straight, folder):
    trainer = two.noting(folder, 6, micro_batch_size=40)
    trainer.train(resume_from_checkpoint=str(folder / "checkpoint-280"))
    assert trainer.seen == {4: straight.seen[4][-80:], 5: straight.seen[5]}


def test_a_checkpoint_of_another_plan_is_refused(straight, folder):
    with pytest.raises(InputError, match="state must be of plan"):
        two.noting(folder, 5).train(resume_from_checkpoint=str(folder / "checkpoint-70"))


def test_a_checkpoint_of_a_plain_trainer_is_refused(straight, folder, tmp_path):
    place = tmp_path / "checkpoint-70"
    shutil.copytree(folder / "checkpoint-70", place)
    state = json.loads((place / "trainer_state.json").read_text())
    del state["stateful_callbacks"]["PlannedTrainer"]
    (place / "trainer_state.json").write_text(json.dumps(state))
    with pytest.raises(InputError, match="checkpoint must be one of a PlannedTrainer"):
        two.noting(tmp_path, 6).train(resume_from_checkpoint=str(place))


def test_what_is_done_once_an_epoch_is_done_at_the_ends_of_epochs(tmp_path):
    once = {"save_strategy": "epoch", "eval_strategy": "epoch", "logging_strategy": "epoch"}
    trainer = two.noting(tmp_path, 3, save_only_model=True, eval_dataset=two.points(4), **once)
    trainer.train()
    assert [step for step, _ in logged(trainer, "eval_loss")] == [24, 120, 168]
    assert logged(trainer, "batch_size") == [(24, 40), (120, 10), (168, 20)]
    saved = {path.name for path in tmp_path.glob("checkpoint-*")}
    assert saved == {"checkpoint-24", "checkpoint-120", "checkpoint-168"}


@pytest.mark.parametrize("micro_batch_size", [None, 4, 1])
@pytest.mark.parametrize("kind", [two.Words, two.Deaf])
def test_pieces_add_up_to_the_large_batch_by_tokens(tmp_path, kind, micro_batch_size):
    data = two.sentences(19)
    found = two.trained(tmp_path, kind(), data, micro_batch_size=micro_batch_size)
    assert apart(found, words_by_hand()) < 1e-10


def test_a_piece_without_a_label_leaves_the_loss_a_number(tmp_path):
    data = two.sentences(19)
    for masked in data[::5]:
        masked["labels"].fill_(-100)
    losses = []
    for micro_batch_size in (None, 1):
        args = two.arguments(tmp_path, logging_nan_inf_filter=False, lr_scheduler_type="constant")
        named = {"train_dataset": data, "plan": two.ragged(), "micro_batch_size": micro_batch_size}
        losses.append(PlannedTrainer(two.Deaf(), args, **named).train().training_loss)
    assert losses[1] == pytest.approx(losses[0], abs=1e-6)


def test_pieces_add_up_for_a_loss_of_your_own(tmp_path):
    def surprise(outputs, labels, num_items_in_batch=None):
        scores = outputs["scores"].flatten(0, 1)
        total = nn.functional.cross_entropy(scores, labels.flatten(), reduction="sum")
        return total / num_items_in_batch

    class Scores(two.Words):
        def forward(self, input_ids):
            return {"scores": self.table(input_ids)}

    data, own = two.sentences(19), {"micro_batch_size": 4, "compute_loss_func": surprise}
    assert apart(two.trained(tmp_path, Scores(), data, **own), words_by_hand()) < 1e-10


def test_a_causal_model_of_transformers_gives_the_same_in_pieces(tmp_path):
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 11, "n_positions": 8}
    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = GPT2Config(**sizes, **still, bos_token_id=0, eos_token_id=0)

    def trained(micro_batch_size):
        torch.manual_seed(0)
        model = GPT2LMHeadModel(config)
        data = two.sentences(19)
        return two.trained(tmp_path, model, data, micro_batch_size=micro_batch_size)

    whole = trained(None)
    assert apart(trained(4), whole) < 1e-6
    torch.manual_seed(0)
    assert apart(two.weights(GPT2LMHeadModel(config)), whole) > 1e-3


def test_a_trainer_of_your_own_is_given_ordinary_batches(tmp_path):
    batches = []

    class Own(Trainer):
        def training_step(self, model, inputs, num_items_in_batch=None):
            batches.append(len(inputs["labels"]))
            return super().training_step(model, inputs, num_items_in_batch)

    class Mine(PlannedTrainer, Own):
        pass

    named = {"train_dataset": two.sentences(19), "plan": two.ragged(), "micro_batch_size": 4}
    Mine(two.Words(), two.arguments(tmp_path), **named).train()
    assert batches == [4, 4, 1, 4, 4, 1, 1]


def words_by_hand():
    model = two.Words()
    return two.by_hand(model, two.sentences(19), lambda batch: model(**batch)["loss"])


def apart(ones, others):
    return max(abs(one - other) for one, other in zip(ones, others, strict=True))


def test_two_processes_give_whole_epochs_between_them(ranks):
    first, second, _ = ranks
    for epoch in "012":
        assert sorted(first["seen"][epoch] + second["seen"][epoch]) == ALL
    assert first["steps"] == second["steps"] == 168


def test_two_processes_resume_inside_an_epoch(ranks):
    for rank in ranks[:2]:
        assert rank["resumed"] == {"1": rank["seen"]["1"][-250:], "2": rank["seen"]["2"]}
        assert rank["same"]


def test_one_process_goes_on_where_two_were(ranks):
    first, second, place = ranks
    trainer = two.noting(place, 3)
    trainer.train(resume_from_checkpoint=str(place / "checkpoint-70"))
    assert sorted(trainer.seen[1]) == sorted(first["resumed"]["1"] + second["resumed"]["1"])
    assert sorted(trainer.seen[2]) == ALL


@pytest.mark.parametrize("kind", ["words", "deaf"])
def test_pieces_over_two_processes_with_fillers_add_up_to_the_large_batch(ranks, kind):
    assert ranks[0][kind] == ranks[1][kind]
    assert apart(ranks[0][kind], words_by_hand()) < 1e-10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_steps": 10}, "max_steps must be the plan's 24, got 10"),
        ({"gradient_accumulation_steps": 2}, "gradient_accumulation_steps must be 1"),
        ({"auto_find_batch_size": True}, "auto_find_batch_size must be False"),
    ],
)
def test_arguments_that_fight_the_plan_are_refused(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        two.noting(tmp_path, 1, **changes)


def test_a_data_set_of_another_length_is_refused(tmp_path):
    named = {"train_dataset": two.points(5), "plan": two.cycle(1)}
    with pytest.raises(InputError, match="dataset must have 960 samples, as the plan has, got 5"):
        PlannedTrainer(two.Line(), two.arguments(tmp_path), **named)


def test_a_code_in_place_of_a_plan_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"plan must be one that rebatch\.plan made, got 'CBS-5'"):
        PlannedTrainer(two.Line(), two.arguments(tmp_path), plan="CBS-5")


def test_a_data_set_that_is_no_stream_needs_a_length(tmp_path):
    args = two.arguments(tmp_path)
    with pytest.raises(InputError, match="train_dataset must have a length, got map"):
        PlannedTrainer(two.Line(), args, train_dataset=map(dict, []), plan=two.cycle(1))


def test_a_stream_is_trained_on_in_its_order_up_to_what_is_planned(tmp_path):
    trainer = two.streaming(tmp_path, two.Stream(400), logging_steps=19)
    trainer.train()
    assert trainer.seen == {0: list(range(300))}
    assert logged(trainer, "batch_size") == [(19, 4), (38, 16)]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_is_resumed_exactly(tmp_path, workers):
    straight = two.streaming(tmp_path, two.Stream(400), save_strategy="steps", save_steps=27)
    straight.train()
    again = two.streaming(tmp_path, Dealt(two.Stream(400)), dataloader_num_workers=workers)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-27"))
    assert again.seen == {0: list(range(132, 300))}
    assert two.weights(again.model) == two.weights(straight.model)


def test_a_stream_is_read_without_the_settings_that_newer_transformers_have():
    old = SimpleNamespace(
        dataloader_num_workers=0,
        dataloader_prefetch_factor=None,
        dataloader_persistent_workers=False,
    )
    source = _source(two.Stream(5), old)
    assert [point["index"].item() for point in source] == [0, 1, 2, 3, 4]


def test_a_stream_that_ends_early_ends_training_and_says_so(tmp_path):
    trainer = two.streaming(tmp_path, two.Stream(50))
    with pytest.warns(UserWarning, match="stream ended after 50 of the 300 samples planned"):
        trainer.train()
    assert trainer.seen == {0: list(range(50))}
    assert trainer.state.global_step == 13


def test_a_stream_has_no_order_but_its_own(tmp_path):
    named = {"train_dataset": two.Stream(960), "plan": two.cycle(1), "sampler": range(960)}
    with pytest.raises(InputError, match="sampler must not be given for a stream"):
        PlannedTrainer(two.Line(), two.arguments(tmp_path), **named)


def test_arguments_given_by_name_have_the_length_of_the_plan_too(tmp_path):
    args = two.arguments(tmp_path)
    named = {"train_dataset": two.Stream(960), "plan": two.cycle(1)}
    assert PlannedTrainer(two.Line(), args=args, **named).args.max_steps == 24
    assert args.max_steps == -1


def test_two_processes_share_a_stream(ranks):
    assert sorted(ranks[0]["stream"] + ranks[1]["stream"]) == list(range(300))


def test_the_arguments_given_stay_as_they_were(tmp_path):
    args = two.arguments(tmp_path)
    PlannedTrainer(two.Line(), args, train_dataset=two.points(960), plan=two.cycle(1))
    assert (args.max_steps, args.ignore_data_skip) == (-1, False)


def test_without_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "rebatch.integrations.transformers")
    with pytest.raises(ImportError, match=r"pip install 'rebatch\[transformers\]'"):
        importlib.import_module("rebatch.integrations.transformers")


def test_the_example_trains_and_goes_on_from_its_last_checkpoint(run_example, tmp_path):
    def sizes(printed):
        return [line.split("'batch_size': ")[1][:2] for line in printed if "batch_size" in line]

    assert sizes(run_example("transformers_trainer.py", tmp_path)) == ["40", "10", "20"] * 2
    for step in (250, 300, 336):
        shutil.rmtree(tmp_path / f"checkpoint-{step}")
    assert sizes(run_example("transformers_trainer.py", tmp_path)) == ["10", "20"]
