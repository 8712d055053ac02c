"""`fairview tune`: say the gap you can accept, get the most useful model that keeps it, with a certificate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairview.cli import options
from fairview.cli.folders import graph_to_tune_on
from fairview.cli.interrupts import terminable
from fairview.cli.output import Format, FormatOption, metric_columns, percent, print_json, print_table, printable
from fairview.cli.reports import report_or_say_why_not
from fairview.cli.trial_progress import SECONDS_BETWEEN_LINES
from fairview.errors import InputError, repeated
from fairview.progress import track_live

if TYPE_CHECKING:
    from fairview.tuning.tune import Notice

_SHOWN = 12


@options.with_table_options(required=False)
def tune(
    tables: options.TableOptions,
    dataset: Annotated[str | None, typer.Argument(help="A known dataset; or give --nodes.")] = None,
    max_gap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FLOAT",
            help="The largest gap you accept, as a fraction: 0.05 is 5 points. Without it: the frontier. With several "
            "sensitive attributes it is for each and for their combinations; repeat NAME=0.05 to limit some alone.",
        ),
    ] = None,
    gap: Annotated[
        list[str] | None,
        typer.Option(
            help="statistical_parity (default), equal_opportunity or equalized_odds; repeat it. NAME=0.03 gives a "
            "gap a limit of its own."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the certificate.")] = 0.95,
    utility: Annotated[str, typer.Option(help="balanced_accuracy, auc, accuracy or f1.")] = "balanced_accuracy",
    methods: Annotated[
        str, typer.Option(help="Names, or package.module:Class, separated by commas.")
    ] = "parity,vanilla",
    encoders: Annotated[
        str | None,
        typer.Option(
            help="For methods that have one: gcn, gin, sage, sign, mlp; separated by commas [default: gcn,sage]."
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Models of searched methods; Parity's path is not counted [default: 4].", min=0)
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Search for so long, instead of a number of trials.")] = None,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    population: Annotated[
        Literal["new", "graph"],
        typer.Option(help="Whom it holds for: also new nodes like these, or the unseen nodes of this graph only."),
    ] = "new",
    group_at_prediction: Annotated[
        bool,
        typer.Option("--group-at-prediction", help="Allow methods that need each node's group to predict it."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of everything random.", min=0)] = 1,
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("tuned/latest"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted search.")] = False,
    force: options.Force = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Leave out the HTML report.")] = False,
    propagated: options.PropagatedFolder = None,
    rows: options.LoadedRows = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Say the gap you can accept; get the most useful model that keeps it, with a certificate, or a refusal.

    Models are fitted on the train split, ranked on a part of the val split, and tested on nodes that no method has
    seen. The chosen one lies in OUT/run, an ordinary run folder for `predict` and `audit`; OUT/report.html shows the
    frontier. Exit code 3: no model could be certified; the message says what was nearest and what would help.

    Examples:

        fairview tune german --max-gap 0.15 --out tuned/german

        fairview tune --nodes people.csv --edges links.csv --label approved --sensitive gender --max-gap 0.05

        fairview tune credit-small --max-gap 0.05 --gap statistical_parity --gap equal_opportunity --confidence 0.9

        fairview tune --nodes own.csv --label ok --sensitive race --sensitive sex --max-gap 0.1

        fairview tune --nodes own.csv --label ok --sensitive race --sensitive sex --max-gap race=0.05 --max-gap sex=0.1

        fairview tune german --out tuned/frontier

        fairview tune --propagated propagated --max-gap 0.05 --out tuned/large

        fairview tune bail-no-time --max-gap 0.05 --methods parity,vanilla,fairvgnn --minutes 10 --workers 2
    """
    from fairview.tuning.folder import check_outputs
    from fairview.tuning.tune import tune as run_tuning

    check_outputs(out, inputs=options.inputs_of(tables), overwrite=force)
    limits = _limits(_largest_gaps(max_gap or []), gap or [])
    options.import_from_here(methods, encoders)
    graph = graph_to_tune_on(dataset, data_dir, tables, propagated, rows)
    kept = f"finished models are kept; go on with --resume --out {out}"
    with terminable(kept), _follow(f"Tuning on {graph.provenance.source}") as notice:
        tuning = run_tuning(
            graph,
            **limits,
            confidence=confidence,
            utility=utility,
            methods=list(options.names(methods)),
            encoders=None if encoders is None else list(options.names(encoders)),
            trials=trials,
            minutes=minutes,
            workers=workers,
            population=population,
            group_at_prediction=group_at_prediction,
            folder=out,
            resume=resume,
            overwrite=force,
            seed=seed,
            notice=notice,
        )
    report = None if no_report else report_or_say_why_not(out, overwrite=force)
    document = tuning.to_dict() | ({} if report is None else {"report": str(report)})
    if format is Format.JSON:
        print_json(document)
    else:
        print_tuning(document, out)
    if tuning.refused is not None:
        typer.echo(printable(f"refused: {tuning.refused}"), err=True)
        raise typer.Exit(3)


def print_tuning(document: dict[str, Any], out: Path) -> None:
    """The decision in a sentence, its tests and their conditions, and the frontier."""
    chosen, columns = document["chosen"], metric_columns()
    if chosen is not None:
        typer.echo(printable(_decision(document)))
        rows = [[split, *(percent(of[name]) for name in columns)] for split, of in document["metrics"].items()]
        plain = document["yardsticks"][1]["metrics"]
        rows.append(["val, the most useful without a limit", *(percent(plain[name]) for name in columns)])
        print_table("The chosen model", ["nodes", *columns.values()], rows, caption="Percent. Gaps: 0 means equal.")
        _print_tests(document)
    frontier = [
        (place, row)
        for place, row in enumerate(document["frontier"])
        if row["on_frontier"] or _is_chosen(place, chosen)
    ]
    shown = [pair for number, pair in enumerate(frontier) if number < _SHOWN or _is_chosen(pair[0], chosen)]
    cells = [
        [
            ("* " if _is_chosen(place, chosen) else "") + row["label"] + (" †" if row["group_at_prediction"] else ""),
            f"{row['threshold']:.3f}",
            *(percent(row["metrics"].get(name)) for name in columns),
        ]
        for place, row in shown
    ]
    notes = [f"Percent on the val nodes. {document['trials']} models, each at up to 20 thresholds."]
    notes += ["* the chosen model"] if chosen is not None else []
    notes += [f"{len(frontier) - len(shown)} more are in tune.json."] if len(shown) < len(frontier) else []
    notes += ["† needs each node's group at prediction."] if any(row["group_at_prediction"] for _, row in shown) else []
    print_table(
        "Frontier: nothing is more useful with a smaller gap",
        ["model", "threshold", *columns.values()],
        cells,
        caption="\n".join([*notes, *document["notes"]]),
    )
    if document["run"] is not None:
        typer.echo(printable(f"{document['run']}  ({document['seconds']['total']:.1f} s)"))
    if "report" in document:
        typer.echo(printable(f"report: {document['report']}"))
    elif document["run"] is None:
        typer.echo(printable(str(out)))


def _decision(document: dict[str, Any]) -> str:
    """What was decided, and what it costs."""
    from fairview.tuning.tuning import limit_name

    chosen, plain = document["chosen"], document["yardsticks"][1]["metrics"][document["utility"]]
    model = f"{chosen['label']}, threshold {chosen['threshold']:.3f}"
    if not document["limits"]:
        return f"The knee of the frontier: {model}."
    kept = " and ".join(
        f"{limit_name(limit).replace('_', ' ')} within {100 * limit['limit']:g} points" for limit in chosen["limits"]
    )
    cost = "" if plain is None else f", at a cost of {100 * (plain - chosen['utility']):.1f} points of "
    words = document["utility"].replace("_", " ") if cost else ""
    return f"It keeps {kept}, certified with {100 * document['confidence']:g} % confidence{cost}{words}: {model}."


def _print_tests(document: dict[str, Any]) -> None:
    from fairview.tuning.tuning import limit_name

    heads = ["gap", "limit", "observed", "upper bound", "p-value", "nodes"]
    tests = [
        [
            limit_name(limit).replace("_", " "),
            *(percent(limit[name]) for name in ("limit", "estimate", "upper_bound")),
            f"{limit['p_value']:.4f}",
            f"{limit['nodes']:,}",
        ]
        for limit in document["chosen"]["limits"]
    ]
    if tests:
        print_table(f"Certified with {100 * document['confidence']:g} % confidence", heads, tests)
        lines = "\n".join(f"- {sentence}" for sentence in document["conditions"])
        typer.echo(printable(f"It holds under these conditions:\n{lines}\n"))


def _is_chosen(place: int, chosen: dict[str, Any] | None) -> bool:
    return chosen is not None and place == chosen["candidate"]


def _largest_gaps(texts: list[str]) -> float | dict[str, float] | None:
    """`--max-gap LIMIT`, or `--max-gap NAME=LIMIT` for some of several attributes."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = ("", "", text) if text.startswith("=") else text.rpartition("=")
        if name and name in found:
            raise typer.BadParameter(f"'{name}' is given two limits: give it one.", param_hint="--max-gap")
        try:
            found[name] = float(value)
        except ValueError:
            raise typer.BadParameter(
                f"'{text}' is no number, and no NAME=LIMIT such as race=0.05.", param_hint="--max-gap"
            ) from None
    if len(found) < len(texts) or ("" in found and len(found) > 1):
        raise typer.BadParameter("give one limit for all, or one NAME=LIMIT for each name.", param_hint="--max-gap")
    return found.get("", found or None)


def _limits(max_gap: float | dict[str, float] | None, gaps: list[str]) -> dict[str, Any]:
    """`--gap NAME` and `--gap NAME=LIMIT` as the library takes them."""
    if twice := repeated(text.partition("=")[0] for text in gaps):
        raise InputError(f"--gap {twice[0]}: it is given twice; give it once.")
    if isinstance(max_gap, dict):
        if limited := [text for text in gaps if "=" in text]:
            raise InputError(f"--gap {limited[0]}: --max-gap has limits by name already; name the gap alone.")
        return {"max_gap": max_gap, "gaps": gaps or None}
    named: dict[str, float | None] = {}
    for text in gaps:
        name, sign, value = text.partition("=")
        try:
            named[name] = float(value) if sign else max_gap
        except ValueError:
            raise InputError(
                f"--gap {text}: expected NAME or NAME=LIMIT, for example equal_opportunity=0.03."
            ) from None
    if any("=" in text for text in gaps):
        if without := [name for name, limit in named.items() if limit is None]:
            raise InputError(f"--gap {without[0]}: it has no limit; give it one, or pass --max-gap.")
        if max_gap is not None and all("=" in text for text in gaps):
            raise InputError(
                f"--max-gap {max_gap:g}: every --gap has a limit of its own. Name the gap that it is for, with --gap, "
                "or leave it out."
            )
        return {"max_gap": named}
    return {"max_gap": max_gap, "gaps": list(named) or None}


@contextmanager
def _follow(description: str) -> Iterator[Notice]:
    """A bar on a terminal; elsewhere a line now and then, for logs."""
    last = perf_counter()
    with track_live(description) as update:

        def notice(done: int, total: int, text: str) -> None:
            nonlocal last
            update(done, total, text)
            if not sys.stderr.isatty() and perf_counter() - last >= SECONDS_BETWEEN_LINES:
                last = perf_counter()
                typer.echo(f"{done} of {total} steps: {text}", err=True)

        yield notice
