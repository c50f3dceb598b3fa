import sys
import types

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rebatch.cli._listeners import tensorboard, wandb
from rebatch.errors import RunError


def test_a_resumed_run_takes_back_the_events_after_its_checkpoint(tmp_path):
    for updates in ((1, 2, 3), (2, 3, 4)):
        with tensorboard(tmp_path) as write:
            for update in updates:
                write({"kind": "updates", "update": update, "loss": float(update), "done": True})
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("loss")] == [1, 2, 3, 4]
    assert events.Tags()["scalars"] == ["loss"]


def test_nothing_is_written_for_a_run_that_never_starts(tmp_path):
    with tensorboard(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_weights_and_biases_that_refuse_are_one_line(monkeypatch):
    def init(project, name):
        raise ValueError("api_key not configured")

    library = types.ModuleType("wandb")
    library.init = init
    monkeypatch.setitem(sys.modules, "wandb", library)
    with (
        pytest.raises(RunError, match=r"^wandb could not be started: api_key not configured$"),
        wandb("cycles", "l1-ptb"),
    ):
        pass


def test_weights_and_biases_get_the_figures_of_every_record(monkeypatch):
    logged = []

    class Run:
        def log(self, figures, step):
            logged.append((figures, step))

        def finish(self):
            logged.append("finished")

    library = types.ModuleType("wandb")
    library.init = lambda project, name: logged.append((project, name)) or Run()
    monkeypatch.setitem(sys.modules, "wandb", library)
    with wandb("cycles", "l1-ptb CBS-10 seed 0") as write:
        write({"kind": "epoch", "update": 7, "test_perplexity": 80.5, "gradient_noise_scale": None})
    assert logged == [
        ("cycles", "l1-ptb CBS-10 seed 0"),
        ({"test_perplexity": 80.5}, 7),
        "finished",
    ]
