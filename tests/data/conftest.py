from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairview as fv

PEOPLE = "id,age,sex,ok\n1,20,f,0\n2,30,m,1\n3,40,f,1\n4,50,m,0\n"
LINKS = "source,target\n1,2\n2,3\n3,4\n"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., fv.NodeGraph]:
    """Read a graph from four people and three links, or from what is given instead: the content of a file, or a frame.

    Also the name of a file may be given: `nodes={"people.csv.gz": content}`.
    """

    def source(given: Any, usual_name: str) -> Any:
        if isinstance(given, dict) and len(given) == 1 and isinstance(next(iter(given.values())), (str, bytes)):
            ((name, given),) = given.items()
        else:
            name = usual_name
        if isinstance(given, str):
            given = given.encode()
        if not isinstance(given, bytes):
            return given
        (tmp_path / name).write_bytes(given)
        return tmp_path / name

    def read_graph(nodes: Any = PEOPLE, edges: Any = LINKS, **options: Any) -> fv.NodeGraph:
        if "recipe" not in options:
            options = {"label": "ok", "sensitive": "sex"} | options
        return fv.read_graph(source(nodes, "nodes.csv"), source(edges, "edges.csv"), **options)

    return read_graph


@pytest.fixture
def refusal(read: Callable[..., fv.NodeGraph]) -> Callable[..., str]:
    """The message with which the same is refused."""

    def message(*tables: Any, **options: Any) -> str:
        with pytest.raises(fv.InputError) as caught:
            read(*tables, **options)
        return str(caught.value)

    return message
