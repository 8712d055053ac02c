"""Two heads beside each other are the two heads."""

from __future__ import annotations

import torch
from torch import nn

from fairview.nn.side_by_side import SideBySide


def test_the_outputs_are_those_of_the_heads_one_after_the_other() -> None:
    torch.manual_seed(0)
    heads, h = [nn.Linear(5, 1), nn.Linear(5, 3)], torch.randn(2, 7, 5)
    both = SideBySide(*heads)
    torch.testing.assert_close(both(h), torch.cat([head(h) for head in heads], dim=-1))
    assert (both.weight.shape, both.bias.shape) == ((4, 5), (4,))
    assert [id(each) for each in both.parameters()] == [id(each) for head in heads for each in head.parameters()]
