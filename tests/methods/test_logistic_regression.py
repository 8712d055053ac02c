from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import fairview as fv


@pytest.fixture(scope="module")
def german() -> fv.NodeGraph:
    return fv.load_dataset("german")


def test_it_is_scikit_learns_on_the_standardised_train_nodes(german):
    train = german.splits["train"]
    x = german.features.astype(np.float64)
    scaler = StandardScaler().fit(x[train])
    expected = LogisticRegression(max_iter=1000).fit(scaler.transform(x[train]), german.labels[train])
    np.testing.assert_allclose(
        fv.LogisticRegression().fit(german).predict_proba(german),
        expected.predict_proba(scaler.transform(x)),
        atol=1e-9,
    )


def test_labels_outside_the_train_split_do_not_matter(german):
    labels = np.where(german.splits["train"], german.labels, 1 - german.labels)
    other = german.replace(labels=labels)
    np.testing.assert_array_equal(
        fv.LogisticRegression().fit(german).predict_proba(german),
        fv.LogisticRegression().fit(other).predict_proba(german),
    )


def test_the_sensitive_channel_can_be_left_out(german):
    fitted = fv.LogisticRegression(sensitive_channels=False).fit(german)
    flipped = german.with_features(
        np.where(np.array(german.channels) == "Gender", 1 - german.features, german.features)
    )
    np.testing.assert_array_equal(fitted.predict_proba(german), fitted.predict_proba(flipped))
    aware = fv.LogisticRegression().fit(german)
    assert (aware.predict_proba(german) != aware.predict_proba(flipped)).any()


def test_channels_are_matched_by_name(german):
    fitted = fv.LogisticRegression().fit(german)
    order = list(range(german.num_channels))[::-1]
    turned = german.with_features(german.features[:, order], [german.channels[j] for j in order])
    np.testing.assert_allclose(fitted.predict_proba(turned), fitted.predict_proba(german), atol=1e-12)


def test_lacking_channels_are_refused(german):
    fitted = fv.LogisticRegression().fit(german)
    with pytest.raises(
        fv.InputError, match=r"^predict: the graph lacks channels that the model was fitted with: 'Gender', 'Age'\.$"
    ):
        fitted.predict_proba(german.without_channels(["Gender", "Age"]))


def test_unlabelled_nodes_are_not_trained_on_and_one_class_is_refused(german):
    train = german.splits["train"]
    some = german.replace(labels=np.where(train & (german.labels == 0), -1, german.labels))
    with pytest.raises(fv.InputError, match=r"^train: all 50 labels are 'good'; both classes are needed\.$"):
        fv.LogisticRegression().fit(some)
    with pytest.raises(fv.InputError, match="no split 'train'"):
        fv.LogisticRegression().fit(german.with_splits({"val": german.splits["val"]}))
