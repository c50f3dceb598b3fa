import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rebatch.models.masked_lstm import MaskedBiLSTM


def test_it_equals_torchs_bidirectional_lstm_on_packed_sequences() -> None:
    ours = MaskedBiLSTM(6, 4).double()
    theirs = nn.LSTM(6, 4, batch_first=True, bidirectional=True).double()
    weights = ours.ahead.all_weights[0] + ours.back.all_weights[0]
    for mine, other in zip(weights, theirs.parameters(), strict=True):
        other.data.copy_(mine)
    inputs, lengths = torch.randn(3, 5, 6, dtype=torch.float64), torch.tensor([5, 3, 1])
    packed = pack_padded_sequence(inputs, lengths, batch_first=True)
    expected, _ = pad_packed_sequence(theirs(packed)[0], batch_first=True)
    out = ours(inputs, torch.arange(5) < lengths[:, None])
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)


def test_the_glorot_start_is_within_its_bound_and_remembers() -> None:
    lstm = MaskedBiLSTM(300, 300)
    lstm.start_glorot()
    for weights in (lstm.ahead.all_weights[0], lstm.back.all_weights[0]):
        from_inputs, from_hidden, bias, second_bias = weights
        assert 0.0577 < from_inputs.max().item() < 0.05774  # sqrt(6 / (300 + 300 + 1200))
        assert 0.0577 < from_hidden.max().item() < 0.05774
        assert bias.tolist() == [0.0] * 300 + [1.0] * 300 + [0.0] * 600
        assert not second_bias.any()


def test_the_orthogonal_start_is_orthogonal_in_every_gate() -> None:
    lstm = MaskedBiLSTM(300, 40)
    lstm.start_orthogonal()
    from_inputs, from_hidden, *biases = lstm.back.all_weights[0]
    assert 0.0098 < from_inputs.std().item() < 0.0102
    for gate in from_hidden.chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(40), rtol=0, atol=1e-5)
    assert not any(bias.any() for bias in biases)
