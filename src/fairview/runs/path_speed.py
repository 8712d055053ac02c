"""How much quicker is the collapsed path than PyG view by view? Trained side by side, same losses, same threads."""

from __future__ import annotations

import time
from typing import Any

import torch

from fairview.data.graph import NodeGraph
from fairview.machine import peak_memory_mb
from fairview.methods.fairvgnn import FairVGNN, FairVGNNNetwork
from fairview.nn.losses import classifier_loss, discriminator_loss, generator_loss
from fairview.training.kept_memory import memory_kept
from fairview.training.machine import torch_threads

ENOUGH_SECONDS = 3.0
"""Each path is timed for at least so long, and for at least one epoch."""


def measure_speed(graph: NodeGraph, settings: dict[str, Any], *, threads: int | None = None) -> dict[str, Any]:
    """Seconds per epoch of training (discriminator, classifier and generator phases, clamp) of both paths.

    The general path is what a user of PyG would write: PyG's convolutions, one view after the other, with the
    normalised edge weights computed beforehand. The fast path is the one that `fit` chooses by itself.

    Args:
        graph: to train on.
        settings: parameters of `FairVGNN`.
        threads: of torch, for both; by default what `fit` would choose.

    Returns:
        `ratio`, `general_seconds_per_epoch`, `fast_seconds_per_epoch`, `max_gradient_difference` (relative, in float64,
        over the three losses and all parameters), `peak_memory_mb` (of the process, after the fast path), and more.
    """
    settings = {name: value for name, value in settings.items() if name not in ("path", "precision")}
    count = threads or FairVGNN(**settings).thread_count(graph)
    with torch_threads(count):
        with memory_kept():  # as `fit` does; a user of PyG would not
            fast, fast_epochs = _seconds_per_epoch(FairVGNN(**settings, path="auto"), graph)
            memory = peak_memory_mb()
        general, general_epochs = _seconds_per_epoch(FairVGNN(**settings, path="general"), graph)
        difference = max_gradient_difference(graph, settings)
    return {
        "dataset": graph.provenance.source,
        "encoder": settings["encoder"],
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "threads": count,
        "general_seconds_per_epoch": general,
        "fast_seconds_per_epoch": fast,
        "ratio": general / fast,
        "max_gradient_difference": difference,
        "peak_memory_mb": memory,
        "epochs_timed": {"general": general_epochs, "fast": fast_epochs},
    }


def max_gradient_difference(graph: NodeGraph, settings: dict[str, Any]) -> float:
    """Largest |difference| / max|gradient| over all parameters and the three losses, both paths in float64."""
    gradients = [
        _gradients(FairVGNNNetwork(FairVGNN(**settings, path=path, precision="float64"), graph))
        for path in ("general", "auto")
    ]
    worst = 0.0
    for general, fast in zip(*gradients, strict=True):
        largest = max(float(gradient.abs().max()) for gradient in general)
        for one, other in zip(general, fast, strict=True):
            # a bias before BatchNorm has no effect: its gradient is rounding in one path and absent in the other
            size = float(one.abs().max())
            worst = max(worst, float((one - other).abs().max()) / (size if size > 1e-9 * largest else largest))
    return worst


def _gradients(network: FairVGNNNetwork) -> list[tuple[torch.Tensor, ...]]:
    masks = network.draw_masks()
    losses = [
        discriminator_loss(network.those_known.logits(masks, network.discriminator), network.groups),
        classifier_loss(network.train_rows.logits(masks, network.classifier), network.train_labels),
        generator_loss(network.everyone.logits(masks, network.discriminator), masks, density_weight=0.5),
    ]
    parameters = [p for module in network.modules.values() for p in module.parameters() if p.requires_grad]
    return [torch.autograd.grad(loss, parameters, retain_graph=True, materialize_grads=True) for loss in losses]


def _seconds_per_epoch(model: FairVGNN, graph: NodeGraph) -> tuple[float, int]:
    network = FairVGNNNetwork(model, graph)
    for rows in (network.everyone, network.train_rows):  # what is computed once per graph is not part of an epoch
        with torch.no_grad():
            rows.logits(network.draw_masks()[:1], network.discriminator)
    epochs, spent = 0, 0.0
    while epochs == 0 or spent < ENOUGH_SECONDS:
        start = time.perf_counter()
        network.epoch()
        spent += time.perf_counter() - start
        epochs += 1
    return spent / epochs, epochs
