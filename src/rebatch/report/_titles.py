"""What the paper's tables are called here, and what has to be known to read them."""

TITLES = {
    "language": "Language models (test perplexity)",
    "inference": "Natural-language inference (validation accuracy, %)",
    "cifar10": "CIFAR-10 (test accuracy, %)",
    "cifar10-overfit": "A network that overfits CIFAR-10 (test accuracy, %)",
    "imagenet": "ImageNet (validation accuracy, %)",
    "imagenet-ensemble": "ImageNet, ensemble of the last two cycles (validation accuracy, %)",
    "adversarial": "With adversarial regularisation (test accuracy, %)",
    "ensemble-cifar10": "Snapshot ensemble on CIFAR-10 (test accuracy, %)",
    "initialization": "From a poor start, N(0, 0.1²) (test accuracy, %)",
    "ensemble-language": "Snapshot ensembles of language models (test perplexity)",
    "overfit-language": "Language models with little dropout (test perplexity)",
}

_UNNAMED = "The paper does not name its schedule; 262k updates fit CBS-10-3."

NOTES = {
    "ensemble-language": "The paper ensembles the best schedule of each column. For L1 on Penn "
    "Treebank that is CBS-10-A, whose cycle of 40 epochs never ends within the 39 epochs of "
    "training: there snapshots are taken at the ends of its steps, the baseline's where the cycles "
    "of CBS-5 end, and CBS-5 stands beside it as a control. Where a baseline takes its snapshots "
    "changes nothing of its training, so a plain baseline fills its single figure too.",
    "overfit-language": "The best epoch is the one with the lowest test perplexity, as the paper "
    "has it: the test set picks it, so it is optimistic.",
    "imagenet": _UNNAMED,
    "imagenet-ensemble": f"{_UNNAMED} A run's own ensemble takes all of its snapshots; the last "
    "two are averaged by `rebatch ensemble RUN --last 2`.",
    "initialization": "The paper's baseline starts at a rate of 0.02 and its cycles at 0.05; the "
    "two controls give the baseline the cycles' rates.",
}
FIGURES = {
    "l2-ptb": "The paper's figure 2 draws training and test perplexity of this network by update.",
    "c2-cifar10": "The paper's figure 3 draws training loss and test accuracy of this network by "
    "epoch.",
    "i1-imagenet": "The paper's figure 4 draws training loss and accuracy of this network by "
    "update and by epoch.",
    "l2p-ptb": "The paper's figure 5 draws training and test perplexity of this network by epoch.",
    "l2-wikitext2": "The paper's figure 6 draws training and test perplexity of this network by "
    "epoch.",
}
"""The recipes whose curves the paper draws."""
