"""The demo's network: small, quick and prone to overfit."""

from torch import Tensor, nn

from rebatch.errors import positive_int


class DigitNet(nn.Module):
    """Two hidden layers over the 8 x 8 pixels of a digit.

    >>> sum(parameter.numel() for parameter in DigitNet(hidden=64).parameters())
    8970
    """

    def __init__(self, num_classes: int = 10, *, hidden: int = 64) -> None:
        super().__init__()
        num_classes = positive_int("num_classes", num_classes)
        hidden = positive_int("hidden", hidden)
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Give the logits of images (sample, 1, 8, 8)."""
        logits: Tensor = self.layers(images)
        return logits
