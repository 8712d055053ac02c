"""Is a tuning folder whole? Hashes, every model that was tried, and the decision made again from their scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import FairviewError, InputError
from fairview.manifest import OWN, file_sha256, mismatches
from fairview.report.folder import read_folder
from fairview.runs.finished import read_json, read_record
from fairview.tuning.certificate import NAME
from fairview.tuning.decision import decide
from fairview.tuning.holdout import hold_out
from fairview.tuning.limits import Limit
from fairview.tuning.trials import load_trial
from fairview.verification.findings import Findings
from fairview.verification.run_folder import Loader, check_run


def check_tuning(folder: Path, graph: NodeGraph | None, load: Loader, findings: Findings) -> None:
    """Everything that can be said about a tuning folder, its run included."""
    document: dict[str, Any] = {}
    with findings.collecting():
        problems, checked = mismatches(folder)
        findings.add(problems)
        findings.looked_at(checked or ["tune.json"])
        if not checked:
            findings.add([f"{OWN}: is missing: the folder was not finished."])
        if not findings.problems:
            read_folder(folder)
            document = read_json(folder / "tune.json")
            _check_trials(folder, findings)
            findings.add(_against_run(document, folder / "run"))
    if (folder / "run").is_dir():
        inner = findings.inside("run")
        check_run(folder / "run", graph, load, inner)
        findings.absorb(inner)
    if graph is not None and document and not findings.problems:
        with findings.collecting():
            findings.add(_decided_again(folder, document, with_default_split(graph)[0], findings))


def _check_trials(folder: Path, findings: Findings) -> None:
    """Each model that was tried has the files that its `trial.json` names."""
    for path in sorted(folder.glob("trials/*/trial.json")):
        place = path.parent.relative_to(folder).as_posix()
        try:
            hashes = json.loads(path.read_bytes())["sha256"]
            wrong = [name for name in ("model.json", "scores.npy") if file_sha256(path.parent / name) != hashes[name]]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            findings.add([f"{place}: can't be read."])
            continue
        findings.add(f"{place}/{name}: does not match its sha256 in trial.json." for name in wrong)
        findings.looked_at(f"{place}/{name}" for name in hashes)


def _against_run(document: dict[str, Any], run: Path) -> list[str]:
    """The decision must be of the model beside it."""
    chosen, limits = document["chosen"], document["limits"]
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
    if graph.sha256 != document["graph"]["sha256"]:
        return ["tune.json: the tuning is of another graph than the one given."]
    holdout = hold_out(graph, seed=document["seed"])
    trials = []
    for path in sorted(folder.glob("trials/*/trial.json")):
        about = json.loads(path.read_bytes())
        try:
            trial = load_trial(path.parent, about["method"], about["settings"], holdout)
        except FairviewError:
            trial = None
        if trial is None:
            findings.note(f"{path.parent.name}: its model can't be loaded here, so that nothing was decided again.")
            return []
        trials.append(trial)
    asked = {name: document[name] for name in ("limits", "gaps", "confidence", "utility", "population", "methods")}
    bounds = {each["gap"]: each["limit"] for each in document["limits"]}
    limits = tuple(Limit(gap, bounds.get(gap)) for gap in document["gaps"])
    again = decide(trials, limits, asked | {"seed": document["seed"]}, holdout).document
    parts = ("chosen", "refused", "refusal", "metrics", "frontier", "yardsticks", "choices", "nodes")
    plain = json.loads(json.dumps({name: again[name] for name in parts}))
    return [f"tune.json: {name} is not what the tried models give." for name in parts if plain[name] != document[name]]
