"""``torchrun`` itself: on one node, on two nodes that meet on loopback, and with signals."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from rebatch.records import RunFolder, read_json, read_lines

TRAIN = ["-m", "rebatch", "train", "digits", "--schedule", "CBS-1-2", "--device", "cpu"]
SMALL = ["--set", "precision=fp64", "--set", "cyclical_batch_size=131", "--set", "epochs=2"]


@pytest.fixture
def start(environment):
    """Start commands that do not outlive the test."""
    started = []

    def begin(*command, **more):
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            env={**environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def losses(folder):
    return [line["train_loss"] for line in read_lines(folder / "metrics.jsonl")]


@pytest.mark.slow
def test_two_nodes_that_meet_on_loopback_make_the_run_of_one_process(start, port, tmp_path):
    alone = start(*TRAIN, *SMALL, "--out", tmp_path / "one")
    assert alone.wait(120) == 0
    meeting = ["--rdzv-backend", "c10d", "--rdzv-id", "7", "--rdzv-endpoint", f"127.0.0.1:{port}"]
    launcher = ["-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2", *meeting]
    train = [*TRAIN, *SMALL, "--out", tmp_path / "four"]
    nodes = [start(*launcher, "--local-addr", "127.0.0.1", *train) for _ in range(2)]
    printed = [node.communicate(timeout=240) for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], printed
    assert len("".join(out for out, _ in printed).splitlines()) == 1
    assert read_json(RunFolder(tmp_path / "four").run)["ranks"] == 4
    assert losses(tmp_path / "four") == pytest.approx(losses(tmp_path / "one"), rel=1e-9)


@pytest.mark.slow
def test_torchrun_hands_a_signal_on_and_the_run_goes_on_with_one_process(start, tmp_path):
    out = tmp_path / "run"
    settings = ["--set", "epochs=40", "--set", "log_every=1", "--out", out]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    node = start(*launcher, *TRAIN, *settings)
    wait_for_updates(out, 20)
    node.send_signal(signal.SIGTERM)
    _, complaint = node.communicate(timeout=60)
    assert complaint.count("stopped by SIGTERM after update") == 2
    assert read_json(RunFolder(out).run)["status"] == "interrupted"
    assert start(*TRAIN, *settings, "--resume").wait(240) == 0
    updates = [line["update"] for line in read_lines(out / "metrics.jsonl")]
    assert sorted(set(updates)) == list(range(1, max(updates) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("to", [0, 1])
def test_a_signal_to_one_rank_stops_both_after_the_same_update(start, port, tmp_path, to):
    out = tmp_path / "run"
    settings = ["--set", "epochs=400", "--set", "log_every=1", "--out", out]
    world = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [start(*TRAIN, *settings, RANK=str(rank), **world) for rank in range(2)]
    wait_for_updates(out, 20)
    os.kill(ranks[to].pid, signal.SIGTERM)
    complaints = [rank.communicate(timeout=60)[1] for rank in ranks]
    assert complaints[0] == complaints[1]
    assert complaints[0].startswith("rebatch: stopped by SIGTERM after update ")
    assert [rank.returncode for rank in ranks] == [143, 143]


@pytest.mark.slow
def test_a_rank_that_hangs_is_given_up_after_the_time_that_was_said(start, port, tmp_path):
    out = tmp_path / "run"
    settings = ["--set", "epochs=400", "--set", "log_every=1", "--out", out]
    world = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    world["REBATCH_TIMEOUT"] = "5"
    ranks = [start(*TRAIN, *settings, RANK=str(rank), **world) for rank in range(2)]
    wait_for_updates(out, 20)
    os.kill(ranks[1].pid, signal.SIGSTOP)
    stopped = time.monotonic()
    _, complaint = ranks[0].communicate(timeout=60)
    assert time.monotonic() - stopped < 30
    assert complaint.startswith("rebatch: another rank has left or does not answer: ")
    assert ranks[0].returncode == 1
    assert read_json(RunFolder(out).run)["status"] == "failed"


def wait_for_updates(out, count):
    """Wait until the log has that many lines."""
    patience = time.monotonic() + 90
    while sum(1 for _ in read_lines(out / "metrics.jsonl")) < count:
        assert time.monotonic() < patience
        time.sleep(0.2)
