"""Do two versions of fairview give the same numbers? Hashes of predictions, to be compared between checkouts.

python -m studies.fingerprints > new.txt                                        this checkout
PYTHONPATH=../older/src python studies/fingerprints.py > old.txt                an older one, with this file
diff old.txt new.txt

Every method with every encoder on both paths, the presets, and the methods without a network, on German, for a few
epochs. Settings whose defaults changed after 0.1.0 are given, so that both versions train the same model.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from typing import Any

import fairview as fv


def fingerprints() -> Iterator[tuple[str, str]]:
    """The name of each fit, and a hash of what it predicts."""
    graph = fv.load_dataset("german")
    for name, model in models():
        yield name, hashlib.sha256(model.fit(graph).predict_proba(graph).tobytes()).hexdigest()[:16]


def models() -> Iterator[tuple[str, Any]]:
    """What is fitted, by name."""
    changed = {"clamp_threshold": 0.1, "balanced_discriminator": False}
    networks = {"fairvgnn": fv.FairVGNN, "vanilla": fv.Vanilla, "nifty": fv.NIFTY, "edits": fv.EDITS}
    networks |= {"fairgnn": fv.FairGNN, "masking": fv.Masking}
    for encoder in ("gcn", "gin", "sage", "mlp"):
        for path in ("auto", "general"):
            for name, kind in networks.items():
                settings = {"encoder": encoder, "path": path, "epochs": 3, "seed": 1, "threads": 1}
                yield f"{name} {encoder} {path}", kind(**settings | (changed if name == "fairvgnn" else {}))
    for encoder in ("gcn", "gin", "sage"):
        yield f"preset paper {encoder}", fv.FairVGNN.from_preset("german", encoder, epochs=5, seed=2, threads=1)
    yield "logistic-regression", fv.LogisticRegression()
    yield "gradient-boosting", fv.GradientBoosting()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of the packages that an older version imports
    for name, digest in fingerprints():
        print(f"{digest}  {name}")
