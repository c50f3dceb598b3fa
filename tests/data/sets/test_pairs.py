import torch

from rebatch.data.sets.pairs import number_pairs


def test_sentences_are_padded_with_zeros_and_numbered_from_two():
    pairs = number_pairs(
        {"train": [(["a", "b"], ["c"], 0), (["b"], ["a", "b", "d"], 2)]}, max_length=50
    )
    assert pairs.vocabulary == ("<pad>", "<unk>", "a", "b", "c", "d")
    assert pairs["train"].premises.tolist() == [[2, 3], [3, 0]]
    assert pairs["train"].hypotheses.tolist() == [[4, 0, 0], [2, 3, 5]]
    assert pairs["train"].labels.tolist() == [0, 2]
    assert pairs["train"].premises.dtype == pairs["train"].labels.dtype == torch.int64


def test_splits_share_one_vocabulary():
    pairs = number_pairs({"a": [(["x"], ["y"], 0)], "b": [(["y"], ["z"], 1)]}, max_length=50)
    assert pairs["b"].premises.tolist() == [[3]]
    assert pairs.counts == {"a": 1, "b": 1}


def test_long_sentences_are_cut():
    pairs = number_pairs({"a": [(["x", "y", "z"], ["z"], 0)]}, max_length=2)
    assert pairs["a"].premises.tolist() == [[2, 3]]
    assert pairs.vocabulary == ("<pad>", "<unk>", "x", "y", "z")


def test_words_outside_a_given_vocabulary_are_unknown():
    pairs = number_pairs(
        {"a": [(["x", "new"], ["x"], 0)]}, max_length=50, vocabulary=("<pad>", "<unk>", "x")
    )
    assert pairs["a"].premises.tolist() == [[2, 1]]
    assert pairs.vocabulary == ("<pad>", "<unk>", "x")


def test_a_sentence_without_words_is_one_unknown_word():
    pairs = number_pairs({"a": [([], ["x"], 0)]}, max_length=50)
    assert pairs["a"].premises.tolist() == [[1]]
