"""The recipes of the paper (Mu et al., 2018), and small studies for data that is at hand.

Batch size and learning rate of the baseline and of the cyclical schedules are kept apart, as in
the paper.  What the paper leaves open is settled in docs/recipes.md.
"""

from dataclasses import replace

from rebatch.rates import constant, divided, divided_every
from rebatch.recipes._recipe import Recipe

LANGUAGE = (
    *("BL", "CBS-10", "CBS-5", "CBS-1", "CBS-10-A", "CBS-5-A", "CBS-1-A"),
    *("CBS-10-T", "CBS-5-T", "CBS-1-T"),
)
OVERFIT = ("BL", "CBS-10-A", "CBS-5-A", "CBS-1-A")
INFERENCE = ("BL", "CBS-1", "CBS-2", "CBS-1-A", "CBS-2-A")

L1_PTB = Recipe(
    name="l1-ptb",
    about="LSTM 2 x 650, Penn Treebank",
    model="L1",
    data="ptb",
    schedules=LANGUAGE,
    epochs=39,
    baseline_batch_size=20,
    baseline_rate=divided_every(20.0, after=6, by=1.2),
    cyclical_batch_size=10,
    cyclical_rate=divided_every(20.0, after=6, by=1.2),
    clip=0.25,
    dropout=0.5,
    hidden=650,
)
L2_PTB = replace(
    L1_PTB,
    name="l2-ptb",
    about="LSTM 2 x 1500, Penn Treebank",
    model="L2",
    epochs=55,
    baseline_rate=divided_every(20.0, after=14, by=1.15),
    cyclical_rate=divided_every(20.0, after=14, by=1.15),
    clip=0.5,
    dropout=0.65,
    hidden=1500,
)
C1_CIFAR10 = Recipe(
    name="c1-cifar10",
    about="AlexNet-like, CIFAR-10",
    model="C1",
    data="cifar10",
    schedules=("BL", "CBS-10-3", "CBS-15-2", "CBS-5-3", "CBS-5-3-A"),
    epochs=90,
    baseline_batch_size=128,
    baseline_rate=divided(0.02, at=(30, 60), by=5),
    cyclical_batch_size=128,
    cyclical_rate=divided(0.05, at=(30, 60), by=5),
    momentum=0.9,
    weight_decay=5e-4,
    augment="zero",
)
C2_CIFAR10 = replace(
    C1_CIFAR10,
    name="c2-cifar10",
    about="WRN-16-4, CIFAR-10",
    model="C2",
    schedules=("BL", "CBS-15", "CBS-10-3", "CBS-5-3", "CBS-5-3-A"),
    epochs=200,
    baseline_rate=divided(0.1, at=(60, 120, 180), by=5),
    cyclical_rate=divided(0.1, at=(60, 120, 180), by=5),
    initialization="msra",
)
C3_CIFAR10 = replace(
    C1_CIFAR10,
    name="c3-cifar10",
    about="ResNet-20, CIFAR-10",
    model="C3",
    schedules=("BL", "CBS-10", "CBS-5-3", "CBS-15-2", "CBS-15-2-A"),
    epochs=160,
    baseline_rate=divided(0.1, at=(80, 120), by=5),
    cyclical_rate=divided(0.05, at=(80, 120), by=5),
    initialization="msra",
)
C4_CIFAR10 = replace(
    C1_CIFAR10,
    name="c4-cifar10",
    about="MLP3, CIFAR-10",
    model="C4",
    schedules=("BL", "CBS-15"),
    epochs=240,
    baseline_batch_size=100,
    baseline_rate=divided(0.1, at=(150, 225), by=10),
    cyclical_batch_size=100,
    cyclical_rate=divided(0.1, at=(150, 225), by=10),
    momentum=0.0,
    weight_decay=0.0,
    augment="none",
)
I1_IMAGENET = replace(
    C1_CIFAR10,
    name="i1-imagenet",
    about="ResNet-50, ImageNet",
    model="I1",
    data="imagenet",
    schedules=("BL", "CBS-10-3"),
    epochs=90,
    baseline_batch_size=256,
    baseline_rate=divided(0.1, at=(30, 60, 80), by=10),
    cyclical_batch_size=256,
    cyclical_rate=divided(0.1, at=(30, 60, 80), by=10),
    weight_decay=1e-4,
    augment="none",
)
E1_SNLI = Recipe(
    name="e1-snli",
    about="ESIM, SNLI",
    model="E1",
    data="snli",
    schedules=INFERENCE,
    epochs=10,
    baseline_batch_size=32,
    baseline_rate=constant(4e-4),
    cyclical_batch_size=32,
    cyclical_rate=constant(4e-4),
    optimizer="adam",
    dropout=0.5,
    hidden=300,
    held_out=(("validation", "dev"), ("test", "test")),
)

PAPER = (
    L1_PTB,
    replace(L1_PTB, name="l1-wikitext2", about="LSTM 2 x 650, WikiText-2", data="wikitext-2"),
    L2_PTB,
    replace(L2_PTB, name="l2-wikitext2", about="LSTM 2 x 1500, WikiText-2", data="wikitext-2"),
    replace(
        L1_PTB,
        name="l1p-ptb",
        about="L1, dropout 0.2, Penn Treebank",
        model="L1'",
        schedules=OVERFIT,
        dropout=0.2,
    ),
    replace(
        L1_PTB,
        name="l1p-wikitext2",
        about="L1, dropout 0.2, WikiText-2",
        model="L1'",
        data="wikitext-2",
        schedules=OVERFIT,
        dropout=0.2,
    ),
    replace(
        L2_PTB,
        name="l2p-ptb",
        about="L2, dropout 0.3, Penn Treebank",
        model="L2'",
        schedules=OVERFIT,
        dropout=0.3,
    ),
    replace(
        L2_PTB,
        name="l2p-wikitext2",
        about="L2, dropout 0.3, WikiText-2",
        model="L2'",
        data="wikitext-2",
        schedules=OVERFIT,
        dropout=0.3,
    ),
    C1_CIFAR10,
    C2_CIFAR10,
    C3_CIFAR10,
    C4_CIFAR10,
    I1_IMAGENET,
    replace(
        E1_SNLI,
        name="e1-multinli",
        about="ESIM, MultiNLI",
        data="multinli",
        held_out=(
            ("validation", "pooled"),
            ("validation_matched", "matched"),
            ("validation_mismatched", "mismatched"),
        ),
    ),
    E1_SNLI,
)
STUDIES = (
    replace(
        C1_CIFAR10,
        name="c1-initialization",
        about="C1 started from N(0, 0.1²)",
        schedules=("BL", "CBS-10-3"),
        initialization="gaussian-0.1",
    ),
    replace(
        C2_CIFAR10,
        name="c2-adversarial",
        about="C2 with FGSM regularisation",
        schedules=("CBS-15",),
        adversarial_share=0.2,
    ),
    replace(
        E1_SNLI,
        name="e1-sick",
        about="ESIM, SICK",
        data="sick",
        held_out=(("validation", "trial"), ("test", "test")),
    ),
    replace(
        E1_SNLI,
        name="e1-snli-dev",
        about="ESIM, SNLI dev to test",
        train_split="dev",
        held_out=(("test", "test"),),
    ),
)
DEMO = Recipe(
    name="digits",
    about="small MLP, digits (demo)",
    model="demo",
    data="digits",
    schedules=("BL", "CBS-5", "CBS-5-A", "CBS-5-T"),
    epochs=40,
    baseline_batch_size=16,
    baseline_rate=constant(0.3),
    cyclical_batch_size=16,
    cyclical_rate=constant(0.3),
    hidden=64,
    log_every=50,
)
