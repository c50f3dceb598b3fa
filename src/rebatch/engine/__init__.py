"""Training: the update, the loop, evaluation, snapshots, ensembles, checkpoints."""
