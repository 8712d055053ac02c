from __future__ import annotations

from fairview.cli.output import print_metrics
from fairview.metrics.evaluation import Evaluator


def test_why_a_gap_has_no_interval_is_said_below_the_table(capsys):
    groups = ["f"] * 3 + ["m"] * 30
    labels, scores = [0, 1, 1] + [0, 1] * 15, [0.2, 0.9, 0.4] + [0.2, 0.8, 0.6] * 10
    print_metrics("Test", {"plain": Evaluator(labels, sensitive=groups)(scores, intervals=True)})
    said = " ".join(capsys.readouterr().out.split())
    assert "plain: SP gap has no interval: group 'f' has only 3 nodes, too few for an interval." in said
