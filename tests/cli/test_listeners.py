import sys
import types

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rebatch.cli._listeners import tensorboard, wandb
from rebatch.errors import RunError
from rebatch.records import read_json


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


class Library(types.ModuleType):
    """Stands for wandb, which is not everywhere: keeps what it was called with."""

    def __init__(self):
        super().__init__("wandb")
        self.started, self.logged = [], []

    def init(self, **told):
        self.started.append(told)
        return types.SimpleNamespace(
            id=told.get("id", f"run{len(self.started)}"),
            log=lambda figures, step: self.logged.append((figures, step)),
            finish=lambda: self.logged.append("finished"),
        )


@pytest.fixture
def library(monkeypatch):
    library = Library()
    monkeypatch.setitem(sys.modules, "wandb", library)
    return library


def test_weights_and_biases_that_refuse_are_one_line(library, monkeypatch, tmp_path):
    def init(**told):
        raise ValueError("api_key not configured")

    monkeypatch.setattr(library, "init", init)
    with (
        pytest.raises(RunError, match=r"^wandb could not be started: api_key not configured$"),
        wandb("cycles", "l1-ptb", tmp_path),
    ):
        pass


def test_weights_and_biases_get_the_figures_of_every_record(library, tmp_path):
    with wandb("cycles", "l1-ptb CBS-10 seed 0", tmp_path) as write:
        write({"kind": "epoch", "update": 7, "test_perplexity": 80.5, "gradient_noise_scale": None})
    assert library.started == [{"project": "cycles", "name": "l1-ptb CBS-10 seed 0"}]
    assert library.logged == [({"test_perplexity": 80.5}, 7), "finished"]


@pytest.mark.parametrize(
    ("project", "resume", "known"),
    [
        ("cycles", True, {"id": "run1", "resume": "allow"}),
        ("cycles", False, {}),
        ("others", True, {}),
    ],
    ids=["resumed", "anew", "elsewhere"],
)
def test_a_resumed_run_goes_on_in_the_run_of_its_folder(library, tmp_path, project, resume, known):
    with wandb("cycles", "l1-ptb", tmp_path, resume=True) as write:
        write({"update": 1})
        write({"update": 2})
    with wandb(project, "l1-ptb", tmp_path, resume=resume) as write:
        write({"update": 3})
    assert library.started[1] == {"project": project, "name": "l1-ptb", **known}


def test_the_run_of_a_folder_is_kept_where_another_one_never_begins(library, tmp_path):
    with wandb("cycles", "l1-ptb", tmp_path) as write:
        write({"update": 1})
    with wandb("cycles", "l1-ptb", tmp_path):
        pass
    assert read_json(tmp_path / "wandb.json") == {"project": "cycles", "id": "run1"}


def test_weights_and_biases_themselves_go_on(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    for update in (1, 2):
        with wandb("cycles", "l1-ptb", tmp_path / "run", resume=update > 1) as write:
            write({"update": update, "loss": 1.0})
    known = read_json(tmp_path / "run" / "wandb.json")["id"]
    assert known
    assert [path.name for path in tmp_path.glob("wandb/offline-run-*")] != []
    assert all(path.name.endswith(known) for path in tmp_path.glob("wandb/offline-run-*"))
