"""A mask over channels and one over kinds, multiplied: drawn together, rounded alike."""

from __future__ import annotations

import torch

from fairview.nn.joint_mask import JointMask
from fairview.nn.mask import ChannelMask


def test_a_column_is_kept_as_its_channel_times_its_kind():
    mask = JointMask(3, 2)
    noise = mask.noise(4, torch.Generator().manual_seed(0))
    plain = ChannelMask(5)
    plain.load_state_dict(mask.state_dict())
    both = plain(noise)
    assert torch.equal(mask(noise), torch.cat([both[:, :3] * both[:, 3:4], both[:, :3] * both[:, 4:]], dim=1))
    rounded = plain.rounded(noise)
    assert torch.equal(mask.rounded(noise).view(4, 2, 3), rounded[:, 3:, None] * rounded[:, None, :3])
    assert torch.equal(mask.keep_probability, plain.keep_probability[:3])
    assert torch.equal(mask.kind_probability, plain.keep_probability[3:])


def test_kinds_alone_keep_every_channel():
    mask = JointMask(3, 2, mask_channels=False)
    noise = mask.noise(4, torch.Generator().manual_seed(0))
    assert mask.scores.shape == (2, 2)
    assert torch.equal(mask(noise).view(4, 2, 3), mask(noise).view(4, 2, 3)[:, :, :1].expand(4, 2, 3))
    assert mask.keep_probability.tolist() == [1, 1, 1]


def test_hard_masks_are_0_or_1_with_gradients_to_both_kinds_of_scores():
    mask = JointMask(3, 2, hard=True)
    drawn = mask(mask.noise(6, torch.Generator().manual_seed(1)))
    assert set(drawn.unique().tolist()) <= {0.0, 1.0}
    (gradient,) = torch.autograd.grad((drawn * torch.rand(6, 6)).sum(), [mask.scores])
    assert (gradient.abs().sum(dim=1) > 0).all()
