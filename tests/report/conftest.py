"""Documents as a run of German leaves them behind: invented numbers, real shapes and names."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairview.manifest import with_hashes

METRICS = (
    "auc",
    "f1",
    "accuracy",
    "balanced_accuracy",
    "false_positive_rate",
    "statistical_parity_gap",
    "equal_opportunity_gap",
    "equalized_odds_gap",
)
CHANNELS = """
    Gender ForeignWorker Single Age LoanDuration LoanAmount LoanRateAsPercentOfIncome YearsAtCurrentHome
    NumberOfOtherLoansAtBank NumberOfLiableIndividuals HasTelephone CheckingAccountBalance_geq_0
    CheckingAccountBalance_geq_200 SavingsAccountBalance_geq_100 SavingsAccountBalance_geq_500 MissedPayments
    NoCurrentLoan CriticalAccountOrLoansElsewhere OtherLoansAtBank HasCoapplicant HasGuarantor OwnsHouse RentsHouse
    Unemployed YearsAtCurrentJob_lt_1 YearsAtCurrentJob_geq_4 JobClassIsSkilled
""".split()  # noqa: SIM905 (27 names)


def row(name: str, values: list[float | None], width: float = 0.04) -> dict[str, Any]:
    """A model's metrics with intervals of a given half width."""
    found: dict[str, Any] = {"name": name, "undefined": {}} | dict(zip(METRICS, values, strict=True))
    found["intervals"] = {
        metric: {"low": max(0.0, value - width), "high": min(1.0, value + width)}
        for metric, value in zip(METRICS, values, strict=True)
        if value is not None
    }
    return found


GOOD = [0.78, 0.80, 0.76, 0.70, 0.40, 0.010, 0.012, 0.030]
PLAIN = [0.80, 0.81, 0.77, 0.71, 0.39, 0.240, 0.180, 0.260]
CONSTANT = [0.5, 0.82, 0.70, 0.5, 1.0, 0.0, 0.0, 0.0]


def group(name: str, nodes: int, positives: int, rates: tuple[float, float, float]) -> dict[str, Any]:
    shown = ("selection_rate", "true_positive_rate", "false_positive_rate")
    counts = {"group": name, "nodes": nodes, "positives": positives, "small": nodes < 50}
    intervals = ({"value": rate, "low": max(0.0, rate - 0.08), "high": min(1.0, rate + 0.08)} for rate in rates)
    return counts | dict(zip(shown, intervals, strict=True))


def made_audit(names: list[str] | None = None, groups: list[str] | None = None) -> dict[str, Any]:
    """A run's audit, with these channels and groups."""
    rng = np.random.default_rng(5)
    names, groups = names or CHANNELS, groups or ["Male", "Female"]
    before = rng.uniform(-0.22, 0.22, len(names))
    after = before * rng.uniform(0.4, 2.6, len(names))
    channels = []
    for place, name in enumerate(names):
        values = [1.0, 0.62, 0.47] if place == 0 else [before[place], (before[place] + after[place]) / 2, after[place]]
        values = [float(np.clip(value, -1, 1)) for value in values]
        change = abs(values[2]) - abs(values[0])
        channels.append(
            {
                "name": name,
                "sensitive": place == 0,
                "constant": False,
                "correlation": values,
                "low": [value - 0.06 for value in values],
                "high": [value + 0.06 for value in values],
                "rank": [place + 1, place + 1, len(names) - place],
                "change": change,
                "rank_change": 0,
                "p_value": [0.4, 0.1, 0.01],
                "leaking": change > 0.08,
            }
        )
    edges = np.linspace(0, 1, 21).tolist()
    steps = np.linspace(0, 1, 41)
    thresholds = np.linspace(0, 1, 51)
    return {
        "kind": "audit",
        "version": 1,
        "graph": {
            "source": "german",
            "sha256": "9b97" * 16,
            "nodes": 1000,
            "edges": 21742,
            "sensitive": names[0],
            "groups": dict.fromkeys(groups, 500),
            "group_unknown": 0,
            "sensitive_channels": [names[0]],
        },
        "homophily": 0.805,
        "homophily_by_group": [{"group": g, "nodes": 500, "homophily": 0.8, "mean_degree": 43.5} for g in groups],
        "operator": "gcn",
        "self_loops": 1.0,
        "hops": 2,
        "rule": "A channel leaks when its correlation grows in size and the permutation test rejects at the level.",
        "level": 0.05,
        "permutations": 999,
        "channels": channels,
        "probe": [
            {"on": on, "hop": hop, "probe": probe, "auc": auc, "low": auc - 0.04, "high": min(1, auc + 0.04)}
            for hop, (on, base) in enumerate((("X", 0.72), ("S X", 0.80), ("S² X", 0.78)))
            for probe, auc in (("linear", base), ("nonlinear", base + 0.05))
        ],
        "label_leaks": [],
        "label_leak_threshold": 0.95,
        "undefined": {},
        "notes": [],
        "model": {
            "method": "fairvgnn",
            "encoder": "gcn",
            "split": "test",
            "threshold": 0.5,
            "rows": [row("fairvgnn", GOOD, 0.03), row("plain", PLAIN), row("constant", CONSTANT, 0.0)],
            "keep": [
                {
                    "name": channel["name"],
                    "keep_probability": float(rng.uniform(0.15, 0.75)),
                    "correlation_before": channel["correlation"][0],
                    "correlation_after": channel["correlation"][2],
                }
                for channel in channels
            ],
            "representations": [
                {"model": model, "probe": probe, "auc": auc, "low": auc - 0.05, "high": auc + 0.05}
                for model, base in (("fairvgnn", 0.58), ("plain", 0.77))
                for probe, auc in (("linear", base), ("nonlinear", base + 0.04))
            ],
            "theorem2": {
                "applies": True,
                "reason": "",
                "chi": 0.8,
                "epsilon": 0.1,
                "left": 0.12,
                "printed": 0.3,
                "corrected": 0.5,
                "printed_holds": True,
                "corrected_holds": True,
                "assumptions": ["one linear layer"],
            },
            "groups": [group(g, 180 - 60 * (p % 2), 120 - 40 * (p % 2), (0.7, 0.8, 0.4)) for p, g in enumerate(groups)],
            "scores": [
                {"group": g, "edges": edges, "counts": rng.integers(0, 25, 20).tolist()} for g in groups
            ],
            "calibration": [
                {
                    "group": g,
                    "bins": [
                        {"predicted": x, "observed": float(np.clip(x + rng.normal(0, 0.06), 0, 1)), "nodes": 30,
                         "low": max(0.0, x - 0.1), "high": min(1.0, x + 0.1)}
                        for x in (0.1, 0.3, 0.5, 0.7, 0.9)
                    ],
                }
                for g in groups
            ],
            "roc": [
                {"group": g, "auc": 0.75, "low": 0.7, "high": 0.8,
                 "points": [[float(x), float(x ** (0.4 + 0.1 * p))] for x in steps]}
                for p, g in enumerate(groups)
            ],
            "thresholds": {
                "chosen": 0.5,
                "points": [
                    {
                        "threshold": float(t),
                        "accuracy": float(0.76 - (t - 0.5) ** 2),
                        "statistical_parity_gap": float(0.2 * t * (1 - t)),
                        "equal_opportunity_gap": None if t > 0.95 else float(0.1 * t),
                        "low": {"statistical_parity_gap": 0.0, "equal_opportunity_gap": 0.0},
                        "high": {"statistical_parity_gap": 0.15, "equal_opportunity_gap": 0.2},
                    }
                    for t in thresholds
                ],
            },
        },
    }  # fmt: skip


def made_metrics(
    values: list[float | None] | None = None, width: float = 0.03, groups: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """metrics.json with the same evaluation on val and test."""
    found = row("", values or GOOD, width)
    del found["name"]
    found["intervals"]["undefined"] = {}
    groups = groups or [group("Male", 179, 130, (0.8, 0.85, 0.4)), group("Female", 71, 45, (0.79, 0.84, 0.4))]
    for one in groups:
        for key in ("selection_rate", "true_positive_rate", "false_positive_rate"):
            one[key] = one[key]["value"] if isinstance(one[key], dict) else one[key]
    found |= {"nodes": sum(one["nodes"] for one in groups), "group_unknown": 0, "groups": groups, "pairs": {}}
    return {"val": found, "test": copy.deepcopy(found)}


def made_record(seed: int = 1) -> dict[str, Any]:
    return {
        "method": "fairvgnn",
        "parameters": {"encoder": "gcn", "views": 10, "epochs": 60, "encoder_updates": ["discriminator"]},
        "seed": seed,
        "identity": "9ac2" * 16,
        "best_epoch": 40,
        "epochs": 60,
        "selection_left_out": [],
        "keep_probability": dict.fromkeys(CHANNELS, 0.5),
        "threads": 1,
        "data": {"source": "german", "sha256": "9b97" * 16, "files": {"german.data": "b21f" * 16}, "notes": ["a note"]},
        "versions": {"fairview": "0.1.0", "python": "3.11.7"},
        "platform": "Linux",
    }  # fmt: skip


def made_history(epochs: int = 60) -> str:
    rng = np.random.default_rng(2)
    lines = []
    for epoch in range(1, epochs + 1):
        loss = {
            phase: float(3 / epoch + rng.uniform(0.1, 0.3)) for phase in ("discriminator", "classifier", "generator")
        }
        val = dict(zip(METRICS, [float(np.clip(value + rng.normal(0, 0.02), 0, 1)) for value in GOOD], strict=True))
        lines.append(json.dumps({"epoch": epoch, "loss": loss, "val": val, "score": 1.0}))
    return "\n".join(lines) + "\n"


def _around(mean: float, width: float) -> dict[str, float]:
    return {"mean": mean, "low": mean - width, "high": mean + width}


def made_summary(labels: list[str] | None = None) -> dict[str, Any]:
    """summary.json; the first row is the plain model."""
    rng = np.random.default_rng(3)
    rows = []
    for place, label in enumerate(labels or ["Plain · GCN", "FairVGNN · GCN", "NIFTY · GCN", "FairVGNN · GIN"]):
        mean = {
            metric: float(np.clip(value - 0.03 * place, 0, 1)) for metric, value in zip(METRICS, PLAIN, strict=True)
        }
        rows.append(
            {
                "method": label.split(" · ")[0].lower(),
                "encoder": label.split(" · ")[-1].lower(),
                "label": label,
                "runs": 10,
                "mean": mean,
                "std": dict.fromkeys(mean, 0.01),
                "low": {metric: value - 0.02 for metric, value in mean.items()},
                "high": {metric: value + 0.02 for metric, value in mean.items()},
                "undefined": {},
                "rank": {"utility": float(place), "fairness": 2.0, "average": 1.5},
                "pareto": place == 1,
                "difference": None
                if place == 0
                else {m: _around(-0.03 * place, float(rng.uniform(0.01, 0.06))) for m in METRICS},
                "seconds": 12.5,
                "memory_mb": 400.0,
            }
        )  # fmt: skip
    graph = {
        "source": "german",
        "nodes": 1000,
        "edges": 21742,
        "sensitive": "Gender",
        "groups": {"Male": 690, "Female": 310},
    }
    return {
        "kind": "comparison", "version": 1, "graph": graph, "selection": "best validation score.",
        "splits": 5, "seeds": 2,
        "metrics": list(METRICS), "rows": rows, "notes": ["a note"],
    }  # fmt: skip


def made_candidate(place: int, count: int, *, needs_group: bool = False, label: str = "") -> dict[str, Any]:
    """The place-th of so many candidates, from useful and unequal to equal; every third is off the frontier."""
    share = place / max(1, count - 1)
    utility, gap = 0.72 - 0.07 * share**3 + 0.006 * needs_group, 0.22 * (1 - share) ** 1.6 + 0.008
    off = place % 3 == 2
    values = [utility + 0.05, 0.8, 0.76, utility - 0.03 * off, 0.4, gap + 0.015 * off, 0.6 * gap + 0.02, gap + 0.03]
    metrics = row("", values, 0.025)
    del metrics["name"]
    return {
        "method": "group-thresholds" if needs_group else "parity",
        "label": label or (f"Group thresholds, {place}" if needs_group else f"Parity, λ {place}"),
        "settings": {"statistical_parity_weight": float(place)},
        "threshold": 0.5,
        "group_at_prediction": needs_group,
        "on_frontier": not off,
        "metrics": metrics,
        "tested": share > 0.5,
        "certified": share > 0.6 and not off,
        "p_value": 0.02 if share > 0.5 else None,
        "upper_bound": gap + 0.02 if share > 0.5 else None,
    }


def made_limit(gap: str = "statistical_parity", limit: float = 0.05) -> dict[str, Any]:
    return {
        "gap": gap, "limit": limit, "estimate": 0.4 * limit, "upper_bound": 0.82 * limit, "p_value": 0.013,
        "confidence": 0.95, "nodes": 250,
    }  # fmt: skip


def made_tuning(
    gaps: tuple[str, ...] = ("statistical_parity",),
    *,
    candidates: int = 14,
    refused: bool = False,
    grouped: int = 0,
) -> dict[str, Any]:
    """tune.json: certified, refused, or without gaps the knee; the last `grouped` candidates need the group."""
    plain = candidates - grouped
    frontier = [made_candidate(place, plain) for place in range(plain)]
    frontier += [made_candidate(place, grouped, needs_group=True) for place in range(grouped)]
    chosen = next(place for place in range(plain) if frontier[place]["certified"])
    limits = [{"gap": gap, "limit": 0.05} for gap in gaps]
    metrics = {split: one | {"nodes": 250} for split, one in made_metrics([0.77, *GOOD[1:]]).items()}
    utility = frontier[chosen]["metrics"]["balanced_accuracy"]
    # the plain row is a candidate, too: the first, which is the most useful
    yardsticks = [
        {"name": "constant", "metrics": row("", CONSTANT, 0.0), "test": row("", CONSTANT, 0.0)},
        {"name": "plain", "metrics": frontier[0]["metrics"], "test": row("", PLAIN)},
    ]
    grid = [0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3]
    choices = []
    for place, limit in enumerate(grid):
        taken = None if place < 2 + refused * 4 else max(0, chosen + 4 - place)
        value = None if taken is None else frontier[taken]["metrics"]["balanced_accuracy"]
        choices.append({"limit": limit, "candidate": taken, "utility": value})
    return {
        "kind": "tuning",
        "version": 1,
        "graph": made_summary()["graph"] | {"sha256": "9b97" * 16},
        "run": None if refused else "runs/x/run",
        "limits": limits,
        "gaps": list(gaps or ("statistical_parity",)),
        "confidence": 0.95,
        "utility": "balanced_accuracy",
        "population": "new",
        "chosen": None
        if refused
        else {
            "method": "parity",
            "settings": frontier[chosen]["settings"],
            "threshold": 0.5,
            "group_at_prediction": False,
            "candidate": chosen,
            "utility": utility,
            "limits": [made_limit(gap) for gap in gaps],
        },
        "refused": "None of 14 candidates could be shown to keep the limit." if refused else None,
        "refusal": {
            "nearest": {
                "candidate": 12,
                "limits": [made_limit(gap) | {"upper_bound": 0.083, "p_value": 0.21} for gap in gaps],
            },
            "certifiable": 0.083,
            "nodes_at_hand": 250,
            "nodes_needed": 2400,
        }
        if refused
        else None,
        "metrics": {} if refused else metrics,
        "frontier": frontier,
        "yardsticks": yardsticks,
        "choices": choices,
        "nodes": {"train": 100, "penalty": 300, "tuning": 80, "certification": 250, "test": 250},
        "conditions": ["The nodes of the certification are a random subset of those held out."],
        "notes": ["A note of the tuning."],
        "seconds": {"fit": 4.2, "certify": 0.1, "total": 5.0},
        "trials": candidates,
    }  # fmt: skip


def made_certificate(gaps: tuple[str, ...] = ("statistical_parity",)) -> dict[str, Any]:
    groups = [{"group": "Male", "nodes": 160, "positive": 90}, {"group": "Female", "nodes": 90, "positive": 50}]
    return {
        "kind": "certificate",
        "version": 1,
        "statement": "With 95% confidence, the shares of positive predictions differ by at most 5.0 points.",
        "limits": [made_limit(gap) | {"groups": [groups] * (1 + (gap == "equalized_odds"))} for gap in gaps],
        "model_sha256": "5eed" * 16,
        "graph_sha256": "9b97" * 16,
        "nodes_sha256": "0dd5" * 16,
        "threshold": 0.5,
        "population": "new",
        "rule": "Candidates are tested one after the other until the first one fails.",
        "conditions": ["The nodes of the certification are a random subset of those held out."],
        "order": 3,
        "candidates": 14,
        "versions": {"fairview": "0.2.0"},
    }


def write(folder: Path, **documents: Any) -> Path:
    """Documents by name of file (`run=...` is run.json, of version 2 with hashes); texts are written as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    record = documents.get("run")
    if isinstance(record, dict) and record.get("version", 1) >= 2:
        write(folder, **{name: document for name, document in documents.items() if name != "run"})
        documents = {"run": with_hashes(record, folder, [path.name for path in folder.iterdir()])}
    for name, document in documents.items():
        text = document if isinstance(document, str) else json.dumps(document)
        (folder / (f"{name}.jsonl" if name == "history" else f"{name}.json")).write_text(text)
    return folder


class Made:
    """The makers above, as one fixture."""

    audit = staticmethod(made_audit)
    metrics = staticmethod(made_metrics)
    record = staticmethod(made_record)
    history = staticmethod(made_history)
    summary = staticmethod(made_summary)
    group = staticmethod(group)
    write = staticmethod(write)
    channels = CHANNELS
    good = GOOD
    tuning = staticmethod(made_tuning)
    certificate = staticmethod(made_certificate)
    candidate = staticmethod(made_candidate)
    limit = staticmethod(made_limit)

    @staticmethod
    def tuned(folder: Path, tuning: dict[str, Any] | None = None, **changed: Any) -> Path:
        """A whole tuning folder; a refusal has no run."""
        tuning = tuning or made_tuning()
        if tuning["chosen"] is not None:
            gaps = tuple(limit["gap"] for limit in tuning["limits"])
            record = made_record() | {"method": "parity", "keep_probability": None}
            audit = made_audit()
            audit["model"] |= {"method": "parity", "encoder": None, "keep": None}
            model = {"sha256": "5eed" * 16, "threshold": 0.5}
            certificate = {"certificate": made_certificate(gaps)} if gaps else {}
            documents = {"run": record, "audit": audit, "model": model, "history": None} | certificate
            Made.run(folder / "run", **(documents | changed))
        return write(folder, tune=tuning)

    @staticmethod
    def run(folder: Path, **changed: Any) -> Path:
        """A whole run folder."""
        documents = {"run": made_record(), "metrics": made_metrics(), "history": made_history(), "audit": made_audit()}
        return write(folder, **{name: found for name, found in (documents | changed).items() if found is not None})


@pytest.fixture(scope="session")
def made() -> type[Made]:
    return Made


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return Made.run(tmp_path / "run")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless Chromium for the tests of a module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium on this machine: the report is not looked at")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a report and wait until it is drawn; `page.errors` and `page.requests` say what went on."""
    contexts = []

    def open_report(path: Path, **settings: Any) -> Any:
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.errors, page.requests = [], []
        page.on("console", lambda message: page.errors.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("dialog", lambda dialog: (page.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=30_000)
        return page

    yield open_report
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def check_width():
    """With all details open, nothing but what scrolls by itself is wider than a phone."""

    def check(page) -> None:
        page.evaluate("document.querySelectorAll('details').forEach(d => (d.open = true))")
        wide = page.evaluate(
            "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg') &&"
            " e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + '.' + e.className)"
        )
        assert wide == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 380

    return check
