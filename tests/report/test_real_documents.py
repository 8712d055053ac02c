"""What audit, train and compare really write can be read, and is drawn."""

from __future__ import annotations

import fairview as fv
from fairview.data.synthetic.generator import synthetic_graph
from fairview.leakage.graph_audit import audit
from fairview.leakage.model_audit import audit_model
from fairview.report import render
from fairview.report.folder import read_folder
from fairview.runs.evidence import write_audit
from fairview.runs.run import train_run


def test_a_real_run_is_read_and_drawn(tmp_path):
    graph = synthetic_graph(300, seed=1)
    graph = graph.with_splits(fv.stratified_splits(graph)[0])
    model = fv.FairVGNN(epochs=2, hidden=4, seed=1)
    train_run(model, graph, tmp_path)
    document = audit(graph, permutations=99, probes=False).to_dict()
    document["model"] = audit_model(model, graph, probes=False).to_dict()
    write_audit(tmp_path, document)
    content = read_folder(tmp_path)
    assert content.audit is not None
    assert [channel.name for channel in content.audit.channels] == list(graph.channels)
    page = render(content)
    for section in ("leak", "mask", "tradeoff", "groups", "thresholds", "training"):
        assert f'<section id="{section}"' in page
