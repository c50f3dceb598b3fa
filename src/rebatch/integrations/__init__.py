"""Adapters for training frameworks, one a file; each needs its extra and nothing imports them."""
