"""Run by torchrun: train models in several processes and in one, and write how far they are apart."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

import fairview as fv
from fairview.propagation.shards import training_shard
from fairview.training.processes import joined, place_by_torchrun, take_from_first

SETTINGS = [
    ("gcn", fv.FairVGNN, {}),
    ("mlp", fv.FairVGNN, {"weight_regulariser": "spectral"}),
    ("gin", fv.FairVGNN, {}),
    ("sign", fv.FairVGNN, {}),
    ("gcn", fv.FairVGNN, {"adversary_sample": 64}),
    ("gin", fv.FairVGNN, {"adversary_sample": 3}),  # some steps have no node of some processes
    ("gcn", fv.FairVGNN, {"self_supervision": "agreement"}),
    ("gin", fv.FairVGNN, {"self_supervision": "agreement", "self_supervision_sample": 64}),
    ("gcn", fv.Vanilla, {"learning_rate": 0.03, "epochs": 30}),
    ("gin", fv.Vanilla, {"learning_rate": 0.03, "epochs": 30, "selection": "objective"}),
    ("mlp", fv.Vanilla, {"precision": "float64", "epochs": 30}),
]


def main(gcn: Path, sums: Path, home: Path) -> None:
    place = place_by_torchrun()
    assert place is not None
    answers = []
    with joined():
        different = [torch.full((2,), 0.1 * place.rank), torch.tensor(place.rank)]
        take_from_first(different)
        assert [value.tolist() for value in different] == [[0, 0], 0]
        for encoder, method, settings in SETTINGS:
            whole = fv.open_propagated(sums if encoder == "gin" else gcn)
            settings = {"encoder": encoder, "epochs": 6} | settings
            share = training_shard(whole, rank=place.rank, processes=place.processes)
            together = method(**settings).fit(share.replace(told_sha256="0" * 64))
            graph = whole.graph()
            alone = method(**settings).fit(graph)
            losses = [[value for row in m.history_ for value in row["loss"].values()] for m in (together, alone)]
            answers.append(
                {
                    "case": f"{encoder} {method.__name__} {settings}",
                    "scores": float(np.abs(together.predict_proba(graph) - alone.predict_proba(graph)).max()),
                    "losses": float(np.abs(np.subtract(*losses)).max()),
                    "epochs": [together.best_epoch_, alone.best_epoch_],
                    "weights": {name: value.double().sum().item() for name, value in together.tensors().items()},
                }
            )
    (home / f"answers-{place.rank}.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
