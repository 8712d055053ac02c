"""EDITS: mask the channels and prune the links that tell the sensitive groups apart, then train a plain network.

Dong, Liu, Jalaian, Li: *EDITS: Modeling and Mitigating Data Bias for Graph Neural Networks*, WWW 2022. A rival of Table
3 of the FairVGNN paper. What differs from its own paper is in docs/methods/edits.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, quoted
from fairview.groups import UNKNOWN
from fairview.methods.contract import features_like, links_like
from fairview.methods.fitted import Links
from fairview.methods.parameters import Channels, Hops
from fairview.methods.plain import PLAIN_SPACE
from fairview.methods.vanilla import Vanilla, VanillaNetwork
from fairview.nn.pruning import LinkPruning
from fairview.nn.wasserstein import Hop, group_contrasts, mean_differences
from fairview.training.state import State


@dataclass(kw_only=True, eq=False, repr=False)
class EDITS(Vanilla):
    """Debias the graph, whatever the encoder, and train on it.

    Args:
        masked_channels: z, how many channels are set to zero: those whose group means differ most.
        edge_threshold: r; links go whose score is above r times the largest of the training graph. None prunes none.
        hops: H, up to which the groups are compared.
        neighbour_share: α of P = α S + (1 - α) I.
        sensitive_nodes: nodes whose sensitive attribute the debiasing learns from, `all` or `train`.

    Attributes:
        keep_probability_: {channel: 1, or 0 where it is masked}.
        notes_: what was masked, and how many links were pruned.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> model = EDITS(masked_channels=4, epochs=3, seed=1).fit(graph)
        >>> sorted(name for name, kept in model.keep_probability_.items() if not kept)
        ['Gender', 'RentsHouse', 'Single', 'YearsAtCurrentJob_lt_1']
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {**PLAIN_SPACE, "masked_channels": (2, 4, 6)}

    masked_channels: Channels = 4
    edge_threshold: Annotated[float, Field(gt=0, le=1)] | None = 0.25
    hops: Hops = 2
    neighbour_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    sensitive_nodes: Literal["all", "train"] = "all"

    def _network(self, graph: NodeGraph) -> EDITSNetwork:
        seen = graph if self.sensitive_channels else graph.without_channels(graph.sensitive_channels)
        mask, pruning = self._debias(seen)
        pruned = seen.replace(adjacency=pruning(seen.features, seen.adjacency))
        network = EDITSNetwork(self, pruned, mask, pruning)
        masked = quoted([name for name, kept in zip(seen.channels, mask, strict=True) if not kept])
        gone = seen.num_edges - pruned.num_edges
        debiased = f"EDITS: masked {masked or 'no channel'}; pruned {gone:,} of {seen.num_edges:,} links."
        network.notes = (debiased, *network.notes)
        return network

    def _debias(self, graph: NodeGraph) -> tuple[npt.NDArray[np.float64], LinkPruning]:
        """Which channels stay (ones and zeros), and the rule that prunes links."""
        if self.masked_channels >= graph.num_channels:
            raise InputError(
                f"masked_channels: {self.masked_channels} of {graph.num_channels} channels; at least one must stay."
            )
        codes = graph.sensitive
        if self.sensitive_nodes == "train":
            codes = np.where(graph.split("train"), codes, UNKNOWN)
            if len(np.unique(codes[codes != UNKNOWN])) < 2:
                reason = f"'{graph.sensitive_name}' has fewer than two groups in the train split"
                raise InputError(f"train: {reason}. Set sensitive_nodes='all'.")
        contrasts = group_contrasts(codes)
        scale = channel_scale(graph.features)
        hop = Hop(graph.adjacency, share=self.neighbour_share)
        features = torch.tensor(graph.features, dtype=torch.float64) / scale
        differences = mean_differences(features, contrasts, hop, hops=self.hops)
        mask = kept_channels(differences, self.masked_channels)
        pruning = LinkPruning.learn(
            graph.features,
            graph.adjacency,
            differences.sign() * mask / scale,  # the critic of the masked channels, for features as they come
            share=self.neighbour_share,
            threshold=self.edge_threshold,
        )
        return mask.numpy(), pruning

    def blank_modules(self, tensors: State, channels: int) -> dict[str, nn.Module]:
        """Encoder, mask and classifier, and the rule that prunes links."""
        groups, length, _ = tensors["pruning.directions"].shape
        return super().blank_modules(tensors, channels) | {"pruning": LinkPruning(groups, length - 1, channels)}

    def link_filter(self, modules: dict[str, nn.Module]) -> Links:
        """Pruned links are left out."""
        return modules["pruning"]

    def fair_view(self, graph: NodeGraph) -> NodeGraph:
        """The graph as the encoder sees it: masked channels are zero, pruned links are gone."""
        view = super().fair_view(graph)
        links_like(graph, self.facts_)
        features = features_like(graph, self.facts_.channels)
        return view.replace(adjacency=self.fitted_.modules["pruning"](features, graph.adjacency))


class EDITSNetwork(VanillaNetwork):
    """The plain network on the pruned graph, with one fixed mask."""

    def __init__(self, method: EDITS, graph: NodeGraph, mask: npt.NDArray[np.float64], pruning: LinkPruning) -> None:
        super().__init__(method, graph)
        self.fixed_mask, self.pruning = self.in_every_block(mask), pruning

    @property
    def modules(self) -> dict[str, nn.Module]:
        return super().modules | {"pruning": self.pruning}


def channel_scale(features: npt.NDArray[np.floating]) -> Tensor:
    """The root mean square of each channel; 1 where all values are zero, so that units don't matter."""
    found = torch.tensor(features, dtype=torch.float64).square().mean(dim=0).sqrt()
    return torch.where(found > 0, found, 1.0)


def kept_channels(differences: Tensor, masked: int) -> Tensor:
    """1 for each channel but the `masked` ones with the largest b_j = sum over groups and hops of |Δ_hj|, 0 for those.

    Paper: EDITS learns θ in [0, 1] per channel, minimising γ sum of θ_j b_j + μ sum of (1 - θ_j)², and masks the
    channels with the smallest θ. That is θ_j = 1 - γ b_j / (2 μ), cut off at 0: whatever γ and μ, the largest b_j go.

    Example:
        >>> kept_channels(torch.tensor([[[0.1, -0.9, 0.0], [0.1, -0.8, 0.3]]]), 1).tolist()
        [1.0, 0.0, 1.0]
    """
    order = differences.abs().sum(dim=(0, 1)).argsort(descending=True, stable=True)
    mask = torch.ones(len(order), dtype=torch.float64)
    mask[order[:masked]] = 0
    return mask
