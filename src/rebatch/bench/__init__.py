"""Speed side by side with plain PyTorch, in one run on one machine."""
