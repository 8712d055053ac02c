"""What is there to say of one of several sensitive attributes, as if it were the only one?

A report has a part for each attribute, and one for the combinations of their groups. The figures of a part are those of
any report, made of the content as this attribute sees it.
"""

from __future__ import annotations

from dataclasses import replace

from fairview.leakage.json_keys import BY_GROUP, OF_THE_GRAPH
from fairview.report.audit_documents import AuditDocument, ModelAuditDocument, ModelGroupsDocument
from fairview.report.documents import EvaluationDocument, ModelRow
from fairview.report.folder import Content, RunDocuments


def attribute_names(content: Content) -> list[str]:
    """Of several sensitive attributes, and last of all together; none where there is only one."""
    documents = (content.tuning, content.audit, content.comparison)
    for graph in [document.graph for document in documents if document is not None]:
        if graph.attributes:
            return [*graph.attributes, graph.sensitive]
    rows = content.model.rows if content.model else []
    return list(content.test.attributes if content.test else rows[0].attributes if rows else ())


def by_attribute(content: Content) -> dict[str, Content]:
    """The content by each sensitive attribute, and last by their combinations; empty where there is only one."""
    return {name: _seen_by(content, name) for name in attribute_names(content)}


def _seen_by(content: Content, name: str) -> Content:
    audit = None if content.audit is None else _audit_by(content.audit, name)
    return replace(content, audit=audit, runs=tuple(_run_by(run, name) for run in content.runs))


def _run_by(run: RunDocuments, name: str) -> RunDocuments:
    audit = None if run.audit is None else _audit_by(run.audit, name)
    metrics = {split: found for split, row in (run.metrics or {}).items() if (found := _evaluation_by(row, name))}
    return replace(run, audit=audit, metrics=metrics)


def _evaluation_by(row: EvaluationDocument, name: str) -> EvaluationDocument | None:
    part = row.attributes.get(name)
    if part is None:
        return None
    own = {field: getattr(part, field) for field in ("group_unknown", "groups", "pairs", "left_out")}
    return row.model_copy(update=own | _gaps_by(row, name))


def _row_by(row: ModelRow, name: str) -> ModelRow:
    return row.model_copy(update=_gaps_by(row, name)) if name in row.attributes else row


def _gaps_by(row: ModelRow, name: str) -> dict[str, object]:
    """The fields of a row with the gaps of one attribute in place of the largest."""
    part = row.attributes[name]
    fields: dict[str, object] = {"metrics": row.metrics | part.metrics, "attributes": {}}
    for field in ("undefined", "without_interval", "intervals"):
        others = {metric: each for metric, each in getattr(row, field).items() if metric not in part.metrics}
        fields[field] = others | getattr(part, field)
    return fields


def _audit_by(audit: AuditDocument, name: str) -> AuditDocument | None:
    model = None if audit.model is None else _model_by(audit.model, name, together=name == audit.graph.sensitive)
    if name == audit.graph.sensitive:
        return audit.model_copy(update={"attributes": {}, "model": model})
    part = audit.attributes.get(name)
    if part is None:
        return None if model is None else AuditDocument(kind="audit", version=1, graph=audit.graph, model=model)
    of_the_graph = {key: getattr(part, key) for key in OF_THE_GRAPH}
    own = {key: getattr(part, key) for key in BY_GROUP if key in type(part).model_fields}
    graph = audit.graph.model_copy(update=of_the_graph | {"sensitive": name})
    return audit.model_copy(update=own | {"graph": graph, "attributes": {}, "model": model})


def _model_by(model: ModelAuditDocument, name: str, *, together: bool) -> ModelAuditDocument | None:
    rows = [_row_by(row, name) for row in model.rows]
    if together:
        return model.model_copy(update={"rows": rows, "attributes": {}})
    part = model.attributes.get(name)
    if part is None:
        return None
    own = {field: getattr(part, field) for field in ModelGroupsDocument.model_fields}
    return model.model_copy(update=own | {"rows": rows, "attributes": {}})
