"""The model card: valid metadata, escaped Markdown, and never over somebody's own README."""

from __future__ import annotations

import re

import pytest
import yaml

import fairview as fv
from fairview.report.documents import visible
from fairview.report.folder import read_folder
from fairview.report.model_card import in_markdown, in_yaml, model_card

HOSTILE = (
    ": # ' \" \n - x",
    "---",
    "a\n---\nlicense: mit",
    "{{7*7}} {% raw %}",
    "[x](javascript:alert(1))",
    "![x](http://x.y/z.png)",
    "<img src=x onerror=alert(1)>",
    "<!-- comment -->",
    "| a | b |",
    "`code` **bold** _it_ ~~s~~",
    "# heading",
    "1. list",
    "\\",
    "!!python/object/apply:os.system ['x']",
    "&anchor *alias",
    "%YAML 1.1",
    "\u202eright to left \x00 \x85",
    "emoji 👩‍👩‍👧 日本語",
    "null",
    "https://x.y www.x.y a@b.c",
)


def metadata(text: str) -> dict:
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert found
    return yaml.safe_load(found[1])


def test_the_metadata_are_what_the_hub_reads(made, tmp_path):
    path = fv.write_card(made.tuned(tmp_path))
    assert path == tmp_path / "README.md"
    found = metadata(path.read_text())
    assert found["library_name"] == "fairview"
    assert found["pipeline_tag"] == "graph-ml"
    assert "certified-fairness" in found["tags"]
    assert found["metrics"] == ["roc_auc", "f1", "accuracy"]
    assert "license" not in found  # the owner's to give
    (model,) = found["model-index"]
    (result,) = model["results"]
    assert set(result) == {"task", "dataset", "metrics"}
    assert result["dataset"] == {"type": "graph", "name": "german", "split": "test", "revision": "9b97" * 16}
    values = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert values["roc_auc"] == made.good[0]
    assert values["statistical_parity_gap"] == made.good[5]


def test_the_card_has_certificate_data_use_gaps_limits_loading_and_settings(made, tmp_path):
    text = fv.write_card(made.tuned(tmp_path)).read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Certificate", "Intended use", "Out-of-scope use", "Data", "Evaluation", "Limits", "How to load it", "Training",
    ]  # fmt: skip
    assert "> **Certificate.** With 95% confidence, the shares of positive predictions differ" in text
    assert "| statistical parity gap | 0.010 | 0.000 to 0.040 |" in text
    assert "| Female | 71 | 45 | 79.0% | 84.0% | 40.0% |" in text
    assert 'fv.load_model("run")' in text
    assert "It does not need the sensitive group of a node to predict." in text
    assert "5eed" * 16 in text


def test_the_card_of_a_run_without_a_certificate_says_so(made, tmp_path):
    text = fv.write_card(made.run(tmp_path)).read_text()
    assert "> **No certificate.** No limit on a gap between groups was certified for this model." in text
    assert "certified-fairness" not in metadata(text)["tags"]
    assert 'fv.load_model(".")' in text


def test_a_void_certificate_is_not_passed_on(made, tmp_path):
    text = fv.write_card(made.tuned(tmp_path, model={"sha256": "0" * 64})).read_text()
    assert "> **Void certificate.** The certificate is void" in text
    assert "certified-fairness" not in metadata(text)["tags"]


def test_a_model_that_needs_the_group_says_so(made, tmp_path):
    tuning = made.tuning()
    tuning["chosen"]["group_at_prediction"] = True
    text = fv.write_card(made.tuned(tmp_path, tuning)).read_text()
    assert "It needs each node's sensitive group when it predicts." in text


def test_there_is_no_card_without_a_model(made, tmp_path):
    refused = made.tuned(tmp_path / "refused", made.tuning(refused=True))
    with pytest.raises(fv.InputError) as caught:
        fv.write_card(refused)
    assert str(caught.value) == f"{refused}: the tuning refused, so there is no model to describe."
    audit = made.write(tmp_path / "audit", audit=made.audit())
    with pytest.raises(fv.InputError) as caught:
        fv.write_card(audit)
    assert str(caught.value) == (f"{audit}: there is no model to describe. Give the folder of a run or of a tuning.")
    for seed in (1, 2):
        made.write(tmp_path / "seeds" / f"seed-{seed}", run=made.record(seed), metrics=made.metrics())
    with pytest.raises(fv.InputError) as caught:
        fv.write_card(tmp_path / "seeds")
    assert str(caught.value) == (
        f"{tmp_path / 'seeds'}: there are 2 runs in it, and a card describes one model. Give one, such as seed-1."
    )


def test_a_card_is_replaced_by_a_card_but_never_a_readme_of_somebodys_own(made, tmp_path):
    folder = made.tuned(tmp_path)
    path = fv.write_card(folder)
    first = path.read_bytes()
    assert fv.write_card(folder).read_bytes() == first
    for changed in (b"# My own notes\n", first.replace(b"## Limits", b"## My limits"), first + b"more\n", b""):
        path.write_bytes(changed)
        with pytest.raises(fv.InputError) as caught:
            fv.write_card(folder)
        assert str(caught.value) == (
            f"{path}: was not written by fairview, or was changed since, so it is kept. Move it away for a new card."
        )
        assert path.read_bytes() == changed


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_a_name(made, tmp_path, name):
    tuning = made.tuning()
    tuning["graph"] |= {"source": name, "sensitive": name, "groups": {name: 10, "other": 20}}
    for row in tuning["frontier"]:
        row["label"] = name
    tuning["conditions"] = [name]
    record = made.record() | {"method": name, "parameters": {name: name}}
    record["data"] |= {"sha256": "9b97" * 16, "notes": [name], "files": {name: name}}
    metrics = made.metrics(groups=[made.group(name, 60, 30, (0.5, 0.5, 0.5)), made.group("b", 60, 30, (0.5, 0.5, 0.5))])
    certificate = made.certificate() | {"statement": name, "conditions": [name], "rule": name}
    folder = made.tuned(tmp_path, tuning, run=record, metrics=metrics, certificate=certificate)
    text = fv.write_card(folder).read_text()
    found = metadata(text)
    assert found["model-index"][0]["results"][0]["dataset"]["name"] == visible(name)
    assert set(found) == {"library_name", "pipeline_tag", "tags", "metrics", "model-index"}
    body = text.split("\n---\n", 1)[1]
    code = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
    plain = code.sub("", body)
    assert not re.search(r"(?<!\\)(<(?!!-- fairview card)|`|!\[|\]\((?!https://github.com/fairview-graphs))", plain)
    assert [line for line in body.splitlines() if line.startswith("#")] == [
        line for line in model_card(read_folder(folder)).split("\n---\n", 1)[1].splitlines() if line.startswith("#")
    ]
    headings = re.findall(r"^## (.*)$", body, re.MULTILINE)
    assert headings[1:] == [
        "Intended use", "Out-of-scope use", "Data", "Evaluation", "Limits", "How to load it", "Training",
    ]  # fmt: skip
    for table in re.findall(r"(?:^\|.*\n)+", plain, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table


@pytest.mark.parametrize("text", HOSTILE)
def test_yaml_reads_back_what_was_written(text):
    text = visible(text)
    document = {"a": text, "b": [text, {"c": text, "d": [{"e": 0.5, "f": {"g": text}}]}], "h": {"i": 1}}
    assert yaml.safe_load(in_yaml(document)) == document


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_what_was_written(text):
    """The oracle is a Markdown library, with tables and raw HTML as on the Hub."""
    markdown = pytest.importorskip("markdown_it", reason="markdown-it-py comes with rich")
    text = " ".join(visible(text).split())
    parser = markdown.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    (opening, inline, closing) = parser.parse(in_markdown(text))
    assert (opening.type, closing.type) == ("paragraph_open", "paragraph_close")
    assert {child.type for child in inline.children} <= {"text", "text_special"}
    assert "".join(child.content for child in inline.children) == text
