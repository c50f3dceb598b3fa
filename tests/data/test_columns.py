import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import rebatch
from rebatch.data import TokenColumns


def columns(tokens=26, *, schedule=None, bptt=3, epochs=1, **ranks):
    made = rebatch.plan(schedule or rebatch.constant(4), epochs=epochs, tokens=tokens, bptt=bptt)
    return TokenColumns(torch.arange(tokens), made, **ranks)


def changing():
    """4 columns for 2 updates, then 2 columns: the change lies inside the first epoch."""
    return columns(43, schedule=rebatch.thresholds({0: 4, 2: 2}, clock="updates"), epochs=2)


def read(feed):
    return [(part.update, part.reset, part.targets.tolist()) for part in feed]


def test_a_stream_of_26_is_laid_out_in_4_columns_of_6():
    first, second = columns()
    assert first.inputs.tolist() == [[0, 6, 12, 18], [1, 7, 13, 19], [2, 8, 14, 20]]
    assert first.targets.tolist() == [[1, 7, 13, 19], [2, 8, 14, 20], [3, 9, 15, 21]]
    assert second.inputs.tolist() == [[3, 9, 15, 21], [4, 10, 16, 22]]
    assert second.targets.tolist() == [[4, 10, 16, 22], [5, 11, 17, 23]]


def test_a_segment_knows_its_update_its_size_and_the_tokens_it_predicts():
    feed = columns(epochs=2)
    feed.set_epoch(1)
    assert [part[:2] + part[-2:] for part in feed] == [(2, 4, 12, 1.0), (3, 4, 8, 1.0)]


def test_the_hidden_state_is_reset_at_the_start_of_an_epoch_only():
    assert [part.reset for part in columns(50)] == [True, False, False, False]


def test_the_rest_of_an_epoch_is_laid_out_anew_when_the_size_changes_inside_it():
    assert read(changing()) == [
        (0, True, [[1, 8, 15, 22], [2, 9, 16, 23], [3, 10, 17, 24]]),
        (1, False, [[4, 11, 18, 25], [5, 12, 19, 26], [6, 13, 20, 27]]),
        (2, True, [[29, 36], [30, 37], [31, 38]]),
        (3, False, [[32, 39], [33, 40], [34, 41]]),
    ]


def test_an_epoch_at_another_size_has_other_columns():
    feed = columns(26, schedule=rebatch.cyclical(2, width=1, steps=2), epochs=2)
    assert len(feed) == 4
    feed.set_epoch(1)
    assert len(feed) == 2
    assert next(iter(feed)).inputs.tolist() == [[0, 6, 12, 18], [1, 7, 13, 19], [2, 8, 14, 20]]


def test_tokens_left_out_are_the_first_row_of_every_layout_and_the_remainder():
    feed = changing()
    assert [feed.left_out(epoch) for epoch in (0, 1)] == [4 + 2 + 1, 2 + 1]
    assert feed.plan.left_out == 10


def test_tokens_left_out_of_an_epoch_that_training_ends_in_count_only_what_was_read():
    made = rebatch.plan(rebatch.constant(4), updates=3, tokens=50, bptt=3)
    assert TokenColumns(torch.arange(50), made).left_out(0) == made.left_out == 4


def test_segments_are_views_of_one_layout():
    first, second = columns()
    assert first.inputs.untyped_storage().data_ptr() == second.targets.untyped_storage().data_ptr()
    assert first.targets.is_contiguous()


def test_resuming_delivers_the_rest_and_len_says_how_much():
    whole, feed = changing(), changing()
    feed.load_state_dict(json.loads(json.dumps(whole.state_dict(updates_done=1))))
    assert len(feed) == 3
    assert read(feed) == read(whole)[1:]


def test_resuming_inside_a_layout_keeps_the_hidden_state():
    feed = changing()
    feed.load_state_dict(feed.state_dict(updates_done=3))
    assert [part.reset for part in feed] == [False]
    feed.load_state_dict(feed.state_dict(updates_done=2))
    assert [part.reset for part in feed] == [True, False]


def test_setting_the_resumed_epoch_goes_on_and_another_starts_over():
    feed = changing()
    feed.load_state_dict(feed.state_dict(updates_done=3))
    feed.set_epoch(0)
    assert len(feed) == 1
    feed.set_epoch(1)
    assert len(feed) == 7


def test_without_updates_done_the_state_is_what_was_drawn():
    feed = changing()
    segments = iter(feed)
    next(segments), next(segments)
    assert feed.state_dict()["updates_done"] == 2


def test_ranks_take_neighbouring_columns_with_weights_that_average_to_the_whole():
    first = next(iter(columns(26, schedule=rebatch.constant(5), rank=0, world_size=2)))
    second = next(iter(columns(26, schedule=rebatch.constant(5), rank=1, world_size=2)))
    assert first.inputs[0].tolist() == [0, 5, 10]
    assert second.inputs[0].tolist() == [15, 20]
    assert (first.weight, second.weight) == (1.2, 0.8)
    assert first.samples == second.samples == 15


def test_more_ranks_than_columns_are_refused():
    message = "world_size must be at most the smallest batch size, 4, .* got 5"
    with pytest.raises(rebatch.InputError, match=message):
        columns(rank=0, world_size=5)


def test_a_rank_outside_the_world_is_refused():
    with pytest.raises(rebatch.InputError, match="rank must be below the world size of 2, got 2"):
        columns(rank=2, world_size=2)


def test_another_number_of_tokens_than_the_plan_is_refused():
    made = rebatch.plan(rebatch.constant(4), epochs=1, tokens=26, bptt=3)
    with pytest.raises(rebatch.InputError, match=r"tokens must be the 26 .* got 25"):
        TokenColumns(torch.arange(25), made)


def test_tokens_of_another_type_are_refused():
    made = rebatch.plan(rebatch.constant(4), epochs=1, tokens=26, bptt=3)
    with pytest.raises(rebatch.InputError, match="one-dimensional int64 tensor, got"):
        TokenColumns(torch.zeros(26), made)


def test_a_plan_of_examples_is_refused():
    made = rebatch.plan(rebatch.constant(4), epochs=1, examples=26)
    with pytest.raises(rebatch.InputError, match="plan must be of tokens"):
        TokenColumns(torch.arange(26), made)


def test_a_state_of_another_plan_is_refused():
    with pytest.raises(rebatch.InputError, match="state must be of plan"):
        columns().load_state_dict(changing().state_dict())


def test_more_updates_done_than_the_epoch_has_are_refused():
    with pytest.raises(rebatch.InputError, match="from 0 to the 2 updates of epoch 0, got 3"):
        columns().state_dict(updates_done=3)


@settings(max_examples=60, deadline=None)
@given(
    tokens=st.integers(20, 300),
    bptt=st.integers(1, 7),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    every=st.integers(1, 6),
    world_size=st.integers(1, 3),
)
def test_every_token_is_a_target_at_most_once_an_epoch_and_totals_are_the_plans(
    tokens, bptt, sizes, every, world_size
):
    steps = {every * place: max(size, world_size) for place, size in enumerate(sizes)}
    schedule = rebatch.thresholds(steps, clock="updates")
    made = rebatch.plan(schedule, epochs=2, tokens=tokens, bptt=bptt)
    stream = torch.arange(tokens)
    seen = 0
    for epoch in range(2):
        targets = []
        for rank in range(world_size):
            feed = TokenColumns(stream, made, rank=rank, world_size=world_size)
            feed.set_epoch(epoch)
            segments = list(feed)
            assert len(segments) == len(feed)
            assert all(torch.equal(part.targets, part.inputs + 1) for part in segments)
            targets += [token for part in segments for token in part.targets.flatten().tolist()]
        assert len(set(targets)) == len(targets) == tokens - feed.left_out(epoch)
        assert sum(part.samples for part in segments) == len(targets)
        seen += len(targets)
    assert seen == made.samples
