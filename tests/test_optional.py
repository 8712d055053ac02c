from __future__ import annotations

import json
import sys

import pytest

from fairview.errors import FairviewError
from fairview.optional import require


def test_a_package_that_is_there_is_returned():
    assert require("json", extra="report", purpose="Charts") is json


def test_a_package_that_is_missing_is_named_with_its_extra():
    with pytest.raises(FairviewError) as caught:
        require("no_such_package", extra="report", purpose="Charts")
    message = "Charts need no_such_package; install it with: pip install 'fairview[report]'"
    assert str(caught.value) == message


def test_a_package_that_lacks_something_itself_is_not_said_to_be_missing(tmp_path, monkeypatch):
    (tmp_path / "halfway.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        require("halfway", extra="report", purpose="Charts")
    sys.modules.pop("halfway", None)
