from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

import fairview as fv


@pytest.mark.parametrize("name", fv.__all__)
def test_every_public_name_is_there(name):
    assert getattr(fv, name) is not None


def test_the_lists_of_public_names_agree():
    assert set(fv.__all__) == {*fv._HOME, "audit", "metrics", "__version__"}
    assert len(fv.__all__) == len(set(fv.__all__))
    assert dir(fv) == sorted(fv.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match=r"^module 'fairview' has no attribute 'load_datset'$"):
        fv.load_datset  # noqa: B018


def test_the_version_is_that_of_the_installed_package():
    assert fv.__version__ == importlib.metadata.version("fairview")


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "fairview", "env"], capture_output=True, text=True, check=True)
    assert fv.__version__ in done.stdout


def loaded_after(statement: str) -> set[str]:
    heavy = ("torch", "torch_geometric", "polars", "pandas", "scipy", "sklearn", "pydantic", "rich", "typer", "numpy")
    heavy += ("altair", "vl_convert", "jinja2", "safetensors", "pyspark", "pyarrow")
    code = f"import sys\n{statement}\nprint('loaded:', *[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


def test_importing_the_package_imports_nothing_heavy():
    assert loaded_after("import fairview") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], ["report", "--help"]])
def test_help_imports_nothing_that_computes(arguments):
    run = f"from fairview.cli import main\ntry:\n    main({arguments})\n"
    run += "except SystemExit as end:\n    assert not end.code"
    assert loaded_after(run) <= {"typer", "rich", "pydantic"}  # typer itself may use pydantic


@pytest.mark.parametrize("folder", ["metrics", "spark"])
def test_a_folder_is_there_when_it_is_the_first_name_used(folder):
    assert "pyspark" not in loaded_after(f"import fairview as fv; assert fv.{folder}.__name__ == 'fairview.{folder}'")


def test_tables_and_graphs_need_no_torch():
    made = "import fairview as fv; fv.summarise(fv.load_dataset('german'))"
    assert not {"torch", "torch_geometric", "rich", "typer"} & loaded_after(made)


@pytest.mark.parametrize(
    "first", ["fv.audit", "import fairview.leakage.graph_audit", "from fairview.leakage.model_audit import audit_model"]
)
def test_the_audit_can_be_called_whatever_was_imported_first(first):
    graph = "fv.synthetic_graph(200, seed=1)"
    code = f"import fairview as fv\n{first}\nprint(fv.audit({graph}, permutations=19, probes=False).operator)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "gcn\n"
