"""Is a tuning folder whole? Hashes, every model that was tried, and the decision made again from their scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import FairviewError, InputError, in_one_line
from fairview.files import read_regular
from fairview.manifest import OWN, file_sha256, recorded
from fairview.methods.registry import METHODS
from fairview.report.folder import read_folder
from fairview.runs.finished import read_json, read_object, read_record
from fairview.tuning.certificate import NAME
from fairview.tuning.decision import decide
from fairview.tuning.holdout import hold_out
from fairview.tuning.limits import limits_of
from fairview.tuning.trials import load_trial
from fairview.verification import graph_record, model_file
from fairview.verification.findings import Findings
from fairview.verification.predictions import SCORES_CLOSE
from fairview.verification.run_folder import Loader, check_run


def check_tuning(folder: Path, graph: NodeGraph | None, load: Loader, findings: Findings) -> None:
    """Everything that can be said about a tuning folder, its run included."""
    document: dict[str, Any] = {}
    with findings.collecting():
        findings.check_hashes(folder, ["tune.json"])
        if recorded(folder) is None:
            findings.add([f"{OWN}: is missing: the folder was not finished."])
        trials = sorted(path.relative_to(folder).as_posix() for path in folder.glob("trials/*/trial.json"))
        findings.require_recorded(folder, ["study.json", "tune.json", *trials])
        if not findings.problems:
            read_folder(folder)
            document = read_object(folder / "tune.json")
            _check_trials(folder, findings)
            findings.add(_against_study(document, read_object(folder / "study.json")))
            findings.add(_against_run(document, folder / "run"))
    if (folder / "run").is_dir():
        inner = findings.inside("run")
        check_run(folder / "run", graph, load, inner)
        findings.absorb(inner)
    if graph is not None and document and not findings.problems:
        with findings.collecting():
            try:
                findings.add(_decided_again(folder, document, with_default_split(graph)[0], findings))
            except (KeyError, TypeError, ValueError, IndexError) as error:
                findings.add([f"tune.json: nothing can be decided again from it ({in_one_line(error)})."])


def _check_trials(folder: Path, findings: Findings) -> None:
    """Each model that was tried has the files that its `trial.json` names."""
    for path in sorted(folder.glob("trials/*/trial.json")):
        place = path.parent.relative_to(folder).as_posix()
        try:
            about = json.loads(read_regular(path))
            hashes = about["sha256"]
            if not isinstance(about["method"], str) or not isinstance(about["settings"], dict):
                raise TypeError
            lost = [name for name in ("model.json", "scores.npy") if not (path.parent / name).is_file()]
            if lost:
                findings.add(f"{place}/{name}: is missing, although trial.json records it." for name in lost)
                continue
            wrong = [name for name in ("model.json", "scores.npy") if file_sha256(path.parent / name) != hashes[name]]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            findings.add([f"{place}: can't be read."])
            continue
        findings.add(f"{place}/{name}: does not match its sha256 in trial.json." for name in wrong)
        findings.looked_at(f"{place}/{name}" for name in hashes)


def _against_study(document: dict[str, Any], study: dict[str, Any]) -> list[str]:
    """The decision must be the answer to what was asked."""
    told = document | {"graph_sha256": document["graph"].get("sha256")}
    names = ("limits", "attributes", "gaps", "confidence", "utility", "methods", "population", "seed", "graph_sha256")
    return [f"study.json: {name} is not that of tune.json." for name in names if study.get(name) != told.get(name)]


def _against_run(document: dict[str, Any], run: Path) -> list[str]:
    """The decision must be of the model beside it."""
    chosen, limits = document.get("chosen"), document.get("limits")
    if chosen is None:
        return ["run: there is one, although tune.json says that no model was chosen."] if run.exists() else []
    if limits and not (run / NAME).exists():
        return [f"run/{NAME}: is missing, although tune.json says that a model was certified."]
    try:
        record = read_record(run)
        certificate = read_json(run / NAME) if limits else {"limits": []}
        same = (record["method"], record["threshold"]) == (chosen["method"], chosen["threshold"])
        told = [{name: row[name] for name in chosen["limits"][0]} for row in certificate["limits"]]
    except (InputError, KeyError, TypeError, IndexError):
        return ["run: run.json or the certificate can't be read."]
    if not same or (limits and told != chosen["limits"]):
        return ["run: it is not the model that tune.json describes."]
    return []


def _decided_again(folder: Path, document: dict[str, Any], graph: NodeGraph, findings: Findings) -> list[str]:
    """The rule, applied again to the scores of every model that was tried."""
    if problems := list(graph_record.against_graph(document["graph"], graph, "tune.json", "the tuning")):
        return problems
    holdout = hold_out(graph, seed=document["seed"])
    trials = []
    for path in sorted(folder.glob("trials/*/trial.json")):
        about = json.loads(read_regular(path))
        place = path.parent.relative_to(folder).as_posix()
        try:
            trial = load_trial(path.parent, about["method"], about["settings"], holdout)
        except FairviewError:
            trial = None
        if trial is None and about["method"] in METHODS:
            return [f"{place}: its model can't be loaded, or is of another graph."]
        if trial is None:
            findings.note(f"{place}: its model can't be loaded here, so that nothing was decided again.")
            return []
        scores = np.asarray(trial.model.predict_proba(graph))[:, 1]
        if not np.allclose(scores, trial.scores, rtol=0, atol=SCORES_CLOSE):
            return [f"{place}/scores.npy: these are not the scores that the model gives."]
        if problems := list(model_file.against_graph(trial.model, graph)):
            return [f"{place}/{problem}" for problem in problems]
        trials.append(trial)
    asked = {name: document[name] for name in ("limits", "gaps", "confidence", "utility", "population", "methods")}
    again = decide(trials, limits_of(document), asked | {"seed": document["seed"]}, holdout).document
    parts = (
        "chosen",
        "refused",
        "refusal",
        "metrics",
        "frontier",
        "yardsticks",
        "choices",
        "nodes",
        "conditions",
        "trials",
    )
    plain = json.loads(json.dumps({name: again[name] for name in parts}))
    findings.recomputed = True
    wrong = [name for name in parts if plain[name] != document.get(name, _ABSENT)]
    return [f"tune.json: {name} is not what the tried models give." for name in wrong]


_ABSENT = object()
