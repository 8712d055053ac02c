"""`fairview paper`: the tables and figures of the FairVGNN paper from runs, beside the paper's own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairview.cli import options
from fairview.cli.interrupts import terminable
from fairview.cli.output import Format, FormatOption, print_json, print_table
from fairview.cli.trial_progress import follow_trials
from fairview.errors import InputError
from fairview.progress import duration

if TYPE_CHECKING:
    from fairview.paper.artefacts import ArtefactResult
    from fairview.paper.pages import PageTable
    from fairview.paper.scope import Scope

_LONG_SECONDS = 60.0
ENCODERS = "gcn,gin,sage"

What = Literal[
    "table1", "table2", "table3", "table4", "table5", "table6", "fig1", "fig3", "fig4", "fig5", "cost", "all", "results"
]


def paper(
    what: Annotated[What, typer.Argument(help="A table or figure, all of them, or the results page.")],
    out: Annotated[Path, typer.Option(help="The folder to write, or to go on with.")] = Path("runs/paper"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke test: German, one seed, two epochs; the numbers mean nothing.")
    ] = False,
    splits: Annotated[int, typer.Option(help="1: the published split. N > 1: N stratified splits instead.", min=1)] = 1,
    seeds: Annotated[
        int | None, typer.Option(help="Seeds 1 to N [default: 5; on several splits 1 for each].", min=1)
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Separated by commas [default: german,bail,credit, as far as at hand].")
    ] = None,
    encoders: Annotated[str, typer.Option(help="Separated by commas.")] = ENCODERS,
    methods: Annotated[str | None, typer.Option(help="Of Table 3, separated by commas [default: all].")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="End with exit code 3 if a row is worse than the paper's or lacks runs.")
    ] = False,
    finished: Annotated[
        bool, typer.Option("--finished", help="Train nothing: show what is there, and name what is not.")
    ] = False,
    earlier: Annotated[
        Path | None,
        typer.Option(
            help="A folder of tables of an earlier call (JSON or CSV): rows without runs here come from there."
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes [default: one per core].", min=1)] = None,
    force: options.Force = False,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Run a table or figure of the FairVGNN paper and set it beside the printed one.

    Writes NAME.md, NAME.csv, NAME.json, figures as SVG, and paper.html. Stopped or killed, the same command goes on
    where it was; rows of earlier calls stay in a table, and tables share their runs. `results` writes results.md
    and results-tables.md from what the folder holds.

    Examples:

        fairview paper table3 --datasets german --encoders gcn,gin --out runs/paper

        fairview paper all --quick --out runs/smoke

        fairview paper table3 --splits 10 --methods vanilla,fairvgnn --out runs/paper

        fairview paper all --finished --out runs/paper

        fairview paper results --out runs/paper
    """
    if what == "results":
        if any((quick, splits > 1, seeds, datasets, encoders != ENCODERS, methods, check, finished, earlier, workers)):
            raise InputError(
                "paper results: shows what --out holds; it takes no other option than --force and --format."
            )
        _results(out, format, force)
        return
    from fairview.paper.artefacts import ARTEFACTS
    from fairview.paper.verdicts import is_compared, shortfalls

    scope = _scope(quick, splits, seeds, datasets, encoders, methods, data_dir)
    names: list[str] = [name for name in ARTEFACTS if _has_rows(name, scope)] if what == "all" else [what]
    if not _has_rows(names[0], scope):
        raise InputError(f"paper {what}: it has no row for what was asked for by --datasets, --encoders and --methods.")
    for name in names:
        _check_out(name, scope, out, force)
    if not finished:
        _say_how_long(names, scope, workers)
    results = {}
    with terminable(f"finished runs are kept; the same command goes on in {out}"):
        for name in names:
            results[name] = _one(name, scope, out, workers, finished, force, earlier)
            if format is Format.TABLE:
                _print(results[name], out)
    _page(out)
    short = [text for document in results.values() for text in shortfalls(document)]
    if format is Format.JSON:
        print_json({"out": str(out), "tables": [_plain(document) for document in results.values()], "short": short})
    else:
        typer.echo(f"{out / 'paper.html'}")
    if check and short:
        typer.echo("fell short of the paper: " + "; ".join(short), err=True)
        raise typer.Exit(3)
    if check and not any(map(is_compared, results.values())):
        raise InputError("--check: nothing here is compared with the paper, whose numbers are of the published split.")


def _has_rows(name: str, scope: Scope) -> bool:
    """Whether a table or figure shows anything of its own for what was asked."""
    from fairview.paper.artefacts import ARTEFACTS
    from fairview.paper.cells import YARDSTICKS

    artefact = ARTEFACTS[name]
    cells = artefact.cells(artefact.scoped(scope)) if artefact.cells is not None else []
    return artefact.series is not None or any(cell.block != YARDSTICKS for cell in cells)


def _scope(
    quick: bool,
    splits: int,
    seeds: int | None,
    datasets: str | None,
    encoders: str,
    methods: str | None,
    data_dir: Path | None,
) -> Scope:
    from fairview.methods.registry import METHODS
    from fairview.paper.scope import PAPER_DATASETS, PUBLISHED_SEEDS, Scope

    default = ("german",) if quick else PAPER_DATASETS
    chosen = None if methods is None else options.names(methods)
    for name in chosen or ():
        if name not in METHODS:
            raise InputError(f"--methods {name}: unknown; expected some of {', '.join(METHODS)}.")
    scope = Scope(
        datasets=default if datasets is None else options.names(datasets),
        encoders=options.names(encoders),
        methods=chosen,
        seeds=seeds or (1 if quick or splits > 1 else PUBLISHED_SEEDS),
        splits=0 if splits == 1 else splits,
        quick=quick,
        data_dir=data_dir,
    )
    if datasets is not None and (missing := scope.missing()):
        scope.graph(missing[0])  # says which files are missing, and where they are looked for
    return scope


def _say_how_long(names: list[str], scope: Scope, workers: int | None) -> None:
    from fairview.machine import available_cores
    from fairview.paper.artefacts import ARTEFACTS
    from fairview.paper.estimate import estimated_seconds

    workers, total = workers or available_cores(), 0.0
    for artefact in (ARTEFACTS[name] for name in names):
        if artefact.cells is not None:
            own_scope = artefact.scoped(scope)
            total += estimated_seconds(artefact.cells(own_scope), own_scope, workers=workers)
    if total > _LONG_SECONDS:
        shared = ", less what tables share" if len(names) > 1 else ""
        typer.echo(f"this takes about {duration(total)} if nothing is there yet{shared}", err=True)


def _check_out(name: str, scope: Scope, out: Path, force: bool) -> None:
    """Whether the files of a table or figure may be written."""
    from fairview.outputs import check_folder
    from fairview.paper.artefacts import ARTEFACTS

    stem = f"{name}{ARTEFACTS[name].scoped(scope).suffix}"
    endings = (".json", ".md", ".csv", "-series.csv", ".svg", "-ab.svg", "-cd.svg")
    check_folder(out, [*(f"{stem}{ending}" for ending in endings), "paper.html"], overwrite=force)


def _one(
    name: str, scope: Scope, out: Path, workers: int | None, finished: bool, force: bool, earlier: Path | None
) -> ArtefactResult:
    """Run a table or figure and write its files."""
    from fairview.atomic import write_atomic
    from fairview.paper import pages
    from fairview.paper.artefacts import run_artefact
    from fairview.report.paper_charts import write_charts

    _check_out(name, scope, out, force)
    with follow_trials(name) as notice:
        document = run_artefact(
            name, scope, out, workers=workers, notice=notice, finished=finished, overwrite=force, earlier=earlier
        )
    write_atomic(out / f"{document.stem}.md", pages.markdown(document, checks=_claims(document)))
    write_atomic(out / f"{document.stem}.csv", pages.tidy(document))
    if series := pages.tidy_series(document):
        write_atomic(out / f"{document.stem}-series.csv", series)
    write_charts(document, out)
    return document


def _claims(document: ArtefactResult) -> PageTable:
    """What the paper claims of this table or figure."""
    from fairview.paper.checklist import findings
    from fairview.paper.claims import claims_table

    return claims_table(findings({document.name: document}, only=document.name))


def _page(out: Path) -> None:
    """Everything in the folder on one page."""
    from fairview.paper.artefacts import documents
    from fairview.paper.checklist import findings
    from fairview.paper.claims import claims_table
    from fairview.report.paper_charts import write_page

    results = documents(out)
    write_page(results, claims_table(findings(results)), out)


def _results(out: Path, format: Format, force: bool) -> None:
    from fairview.atomic import write_atomic
    from fairview.outputs import check_folder
    from fairview.paper.artefacts import documents
    from fairview.paper.checklist import findings
    from fairview.paper.claims import claims_table
    from fairview.paper.results_page import TABLES, results_page
    from fairview.paper.tables_page import tables_page

    pages = {"results.md": results_page(out), TABLES: tables_page(out)}
    check_folder(out, list(pages), overwrite=force)
    for name, page in pages.items():
        write_atomic(out / name, page)
    checked = findings(documents(out))
    if format is Format.JSON:
        claims = [
            {"claim": claim.text, "where": claim.where, "verdict": finding.verdict, "evidence": finding.evidence}
            for claim, finding in checked.values()
        ]
        print_json({"page": str(out / "results.md"), "tables": str(out / TABLES), "claims": claims})
        return
    table = claims_table(checked)
    print_table(table.title, table.columns, table.rows)
    typer.echo(str(out / "results.md"))


def _print(document: ArtefactResult, out: Path) -> None:
    from fairview.paper.pages import tables

    for table in tables(document):
        print_table(f"{document.title} · {table.title}", table.columns, table.rows)
    checks = _claims(document)
    if checks.rows:
        print_table(checks.title, checks.columns, checks.rows)
    typer.echo(f"{out / document.stem}.md\n")


def _plain(document: ArtefactResult) -> dict[str, Any]:
    """For JSON: means and deviations are fractions, the paper's numbers percent, as printed."""
    from fairview.paper.verdicts import in_words

    rows = []
    for row in document.rows:
        plain = row.to_dict()
        names = ("dataset", "encoder", "block", "row", "method", "facts", "paper_percent")
        kept = {name: plain[name] for name in names}
        means = {name: None if (mean := row.mean(name)) is None else mean / 100 for name in row.values or row.earlier}
        stds = {name: None if (std := row.std(name)) is None else std / 100 for name in row.values or row.earlier}
        rows.append(
            kept
            | {"runs": row.count, "earlier": bool(row.earlier), "mean": means, "std": stds, "verdict": in_words(row)}
        )
    return {"name": document.name, "scope": dict(document.scope), "rows": rows, "series": list(document.series)}
