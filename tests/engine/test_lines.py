import pytest

from rebatch.engine.lines import line
from rebatch.engine.loop import train
from rebatch.records import read_lines


def found(job, kind):
    return [line for line in read_lines(job.folder.metrics) if line["kind"] == kind]


def test_a_line_says_where_the_run_is(picture_job):
    job = picture_job(epochs=4)
    train(job)
    last = found(job, "epoch")[-1]
    where = ("epoch", "update", "samples", "batch_size", "micro_batch_size", "cycle", "step")
    assert [last[name] for name in where] == [3, 16, 160, 16, 16, 1, 1]
    assert {"train_loss", "train_accuracy", "test_loss", "test_accuracy"} <= set(last)
    assert {"gradient_norm", "clipped_share", "seconds"} <= set(last)
    assert [line["update"] for line in found(job, "updates")] == [3, 6, 9, 12, 15]


def test_the_noise_scale_counts_examples_and_momentum(picture_job):
    job = picture_job(epochs=2)
    train(job)
    # 0.05 / (1 - 0.9) x 40 / 8, then at twice the batch size.
    scales = [line["noise_scale"] for line in found(job, "epoch")]
    assert scales == [pytest.approx(2.5), pytest.approx(1.25)]


def test_the_noise_scale_of_text_counts_tokens(text_job):
    job = text_job(epochs=2)
    train(job)
    # 5 x 400 tokens / (4 columns x 9 rows), then at twice the columns.
    scales = [line["noise_scale"] for line in found(job, "epoch")]
    assert scales == [pytest.approx(2000 / 36), pytest.approx(2000 / 72)]
    last = found(job, "epoch")[-1]
    assert {"train_perplexity", "valid_perplexity", "test_perplexity", "valid_loss"} <= set(last)
    assert "train_accuracy" not in last
    assert last["samples"] == job.plan.samples


def test_gauges_are_there(text_job):
    job = text_job(code="BL", epochs=2)
    train(job)
    # 2 of the 11 updates of the first epoch are clipped.
    assert [line["clipped_share"] for line in found(job, "epoch")] == [pytest.approx(2 / 11), 0.0]
    assert all(0 < line["gradient_norm"] < 1 for line in found(job, "updates"))
    assert all(line["gradient_noise_scale"] > 0 for line in found(job, "updates"))


def test_one_micro_batch_has_no_gradient_noise_scale(picture_job):
    job = picture_job(epochs=1, base=1, code="BL")  # a single sample cannot be cut
    train(job)
    assert {line["gradient_noise_scale"] for line in found(job, "updates")} == {None}


def test_the_line_of_the_last_update_belongs_to_its_row(picture_job):
    job = picture_job(epochs=1)
    progress = train(job)
    progress.epoch, progress.update = 0, 5
    progress.tally.samples = progress.tally.updates = 1
    assert line(job, progress, "epoch", 0.1)["batch_size"] == 8
