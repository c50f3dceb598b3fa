from rebatch.report._speed import speed_markdown, speed_notes

CELL = {
    "model": "L1",
    "batch_size": 10,
    "asked": 3.0,
    "against": "plain",
    "rounds": {"ours": [500.0], "plain": [160.0]},
    "updates_per_second": {"ours": 500.0, "plain": 160.0},
    "epoch_seconds": {"ours": 5.312, "plain": 16.6},
    "memory": {"ours": 1.5e9, "plain": 9e8},
    "graphs": 2,
    "capture_seconds": 0.31,
    "warm_up_seconds": 0.64,
    "limit": 4000.0,
    "ratio": 3.125,
    "resident_ratio": 3.125,
    "met": True,
}
PICTURES = {
    **CELL,
    "model": "I1",
    "batch_size": 64,
    "asked": 1.0,
    "against": "plain_bf16",
    "updates_per_second": {"ours": 20.0, "plain": 8.0, "plain_bf16": 21.0},
    "epoch_seconds": {"ours": 1001.0, "plain": 2502.3, "plain_bf16": 953.2},
    "memory": {},
    "graphs": 0,
    "ratio": 0.952,
    "resident_ratio": 1.1,
    "met": False,
}
RECORD = {
    "device": "NVIDIA H200",
    "torch": "2.11.0",
    "threads": 8,
    "workers": 8,
    "rounds": 3,
    "seconds": 1.0,
    "share": 1.0,
    "cells": [CELL, PICTURES],
}


def test_speeds_and_costs_are_tables_of_a_row_a_cell():
    lines = speed_markdown(RECORD).splitlines()
    assert lines[2] == "| L1 | 10 | 500 | 160 | 3.12x | 3x met | 3.12x | 12 % |"
    assert lines[3] == "| I1 | 64 | 20 | 21 | 0.95x | 1x missed | 1.10x | 0.5 % |"
    assert lines[7] == "| L1 | 10 | 5.31 s | 16.6 s | 1.50 GB | 0.90 GB | 2, 0.3 s | 0.6 s |"
    assert lines[8] == "| I1 | 64 | 1,001 s | 953 s | – | – | – | 0.6 s |"


def test_the_notes_say_how_it_was_measured():
    notes = speed_notes(RECORD)
    assert "NVIDIA H200, torch 2.11.0, 8 threads; the plain loop has 8 workers" in notes
    assert any("best of 3 rounds of 1 s" in note for note in notes)
    assert "I1: plain is channels-last and autocast to bf16" in notes


def test_a_trial_on_little_data_says_so():
    notes = speed_notes({**RECORD, "share": 0.01})
    assert notes[-1] == "only 0.01 of the data: to try it out, not to be quoted"
