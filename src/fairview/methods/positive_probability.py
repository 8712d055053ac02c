"""How likely is each node positive? The label where training knows it, else a calibrated score of a plain model.

Equal opportunity compares the groups among the positives. The labels of a few training nodes say little about that; a
score for every node says more, if it means what it says.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from fairview.data.graph import NodeGraph
from fairview.methods.contract import channels_seen, features_like, training_rows

FOLDS = 5


def positive_probability(graph: NodeGraph) -> npt.NDArray[np.float64]:
    """Labels of the train split, elsewhere a logistic regression on them, calibrated by Platt's method, (n,).

    The regression does not see the sensitive channels. Its margins on held-out folds of the train nodes are mapped to
    probabilities by a second regression with one feature; with fewer than two labels of a class there are no folds, and
    its own probabilities stand.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> found = positive_probability(graph)
        >>> train = graph.split("train") & graph.labelled
        >>> bool((found[train] == graph.labels[train]).all()), bool((found > 0).all())
        (True, False)
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = training_rows(graph)
    labels = graph.labels[rows].astype(np.float64)
    features = features_like(graph, channels_seen(graph, sensitive_channels=False)).astype(np.float64)
    if features.shape[1] == 0:
        margins = np.full(graph.num_nodes, np.log(labels.mean() / (1 - labels.mean())))
    else:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        margins = model.fit(features[rows], labels).decision_function(features)
        folds = min(FOLDS, int(min(labels.sum(), (1 - labels).sum())))
        if folds > 1:
            parts = StratifiedKFold(folds)
            unseen = cross_val_predict(model, features[rows], labels, cv=parts, method="decision_function")
            platt = LogisticRegression(C=1e6).fit(unseen[:, None], labels)
            margins = platt.decision_function(margins[:, None])
    found: npt.NDArray[np.float64] = expit(margins)
    found[rows] = labels
    return found
