"""The example of a loop of one's own."""


def test_it_goes_on_where_it_was_and_ends_alike(run_example, tmp_path):
    whole, rest = (run_example("own_loop.py", tmp_path / "own") for _ in range(2))
    assert whole[:3] == [
        "epoch 0: batch size 16, 90 of 1020 updates",
        "epoch 1: batch size 16, 180 of 1020 updates",
        "epoch 2: batch size 32, 225 of 1020 updates",
    ]
    assert whole[23] == "epoch 23: batch size 128, 1020 of 1020 updates"
    assert [line.split(":")[0] for line in whole[24:]] == [
        *("snapshots, 0", "snapshots, 1", "snapshots, 2", "snapshots, together")
    ]
    assert rest == whole[22:]  # the last checkpoint is that of update 1000
    assert float(whole[-1].split()[2]) > 85
