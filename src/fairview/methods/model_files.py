"""How does a model survive on disk? `model.safetensors` with the tensors, `model.json` with everything else.

No pickle: tensors are read as numbers, and the JSON names methods and encoders from a closed list only. Code of your
own is handed to `load_model`, never looked up by name. `model.json` is written in one canonical form and holds the
sha256 of the tensors and of itself: every changed byte and every truncation is noticed before anything is used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from fairview._version import __version__
from fairview.arguments import require_folder
from fairview.atomic import write_atomic
from fairview.errors import FairviewError, InputError, ModelFileError, flag, in_one_line, placeholder
from fairview.files import read_regular
from fairview.isolation import isolated
from fairview.manifest import check_recorded
from fairview.marks import TENSORS
from fairview.methods.contract import Facts
from fairview.methods.encoder_spec import Encoder as EncoderLike
from fairview.methods.encoder_spec import resolve_encoder
from fairview.methods.estimator import Estimator
from fairview.methods.registry import METHODS, name_of, needs_group, settings_of
from fairview.methods.settings import check_settings
from fairview.outputs import check_folder
from fairview.training.state import State

FORMAT = 2
"""Format 1, of version 0.1.0, has the sha256 of the JSON in a line below it, and is still read."""

WAITING = "model.safetensors.next"
"""Tensors of a save over an old model, until it is finished."""

LARGEST = 1024**3
"""Bytes of a model file that are read at most."""

_FOREIGN = {"foreign": True}
"""Stands for a module or function of the user's own: what was learnt is saved, its code is not."""


def save_model(model: Estimator, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write `model.safetensors` and `model.json` into a folder, in place of an earlier model of fairview's.

    Args:
        model: fitted.
        folder: made if need be.
        overwrite: also replace files of these names that fairview did not write.

    Raises:
        InputError: such a file is there, or something that is no plain file.
    """
    folder = require_folder(folder, "save")
    check_folder(folder, ("model.json", "model.safetensors", WAITING), overwrite=overwrite)
    write_model(model, folder)


def write_model(model: Estimator, folder: Path) -> None:
    """Write both files of a model; at every moment the folder holds the old model or the new one.

    Over an old model, the new tensors wait beside the old ones until the new JSON, which names their sha256, is there.
    """
    payload, document = model_content(model)
    tensors, about = folder / "model.safetensors", folder / "model.json"
    if not about.exists():
        write_atomic(tensors, payload)
        write_atomic(about, document)
        return
    waiting = folder / WAITING
    if waiting.exists() and _is_payload_of(about, waiting):  # a save was killed just before its last step
        _replace(waiting, tensors)
    write_atomic(waiting, payload)
    write_atomic(about, document)
    _replace(waiting, tensors)


def _is_payload_of(about: Path, tensors: Path) -> bool:
    try:
        return checked(_read(about), about).get("tensors_sha256") == hashlib.sha256(_read(tensors)).hexdigest()
    except ModelFileError:
        return False


def _replace(source: Path, target: Path) -> None:
    try:
        source.replace(target)
    except OSError as error:
        raise FairviewError(f"{target}: can't be written ({error.strerror or error}).") from None


def model_content(model: Estimator) -> tuple[bytes, bytes]:
    """What `model.safetensors` and `model.json` hold; the second names the sha256 of the first."""
    check_saveable(model)
    tensors, facts = model.tensors(), model.facts()
    payload = safetensors.torch.save({name: t.contiguous().clone() for name, t in tensors.items()}, dict(TENSORS))
    parameters = {name: _plain(value) for name, value in settings_of(model).items()}
    document = {
        "format": FORMAT,
        "fairview": __version__,
        "method": name_of(model),
        "group_at_prediction": needs_group(model),
        "parameters": parameters,
        "threshold": model.threshold_,
        "facts": facts.model_dump(mode="json"),
        "tensors_sha256": hashlib.sha256(payload).hexdigest(),
    }
    return payload, canonical(document)


def check_saveable(model: object) -> None:
    """Say what a class of the user's lacks before work is spent on it."""
    lacking = [
        name for name in ("get_params", "facts", "tensors", "restore") if not callable(getattr(model, name, None))
    ]
    if lacking:
        raise InputError(
            f"method {type(model).__name__}: it can be compared, but not saved: it has no {', '.join(lacking)}. "
            "Derive it from fairview.Estimator, and add tensors() and restore(tensors, facts)."
        )


@isolated()
def load_model(
    folder: str | Path,
    *,
    method: type | None = None,
    encoder: EncoderLike | None = None,
    basis: Callable[..., Any] | None = None,
    device: str = "cpu",
) -> Estimator:
    """Read a model back.

    Args:
        folder: where `save` put it.
        method: for a model of a class of your own that is not registered, that class.
        encoder: for a model that was trained with a module of your own, that module, whose weights are replaced, or a
            function from the number of channels to such a module, or where that function lies, as `module:function`.
        basis: for a model that was fitted with a basis of your own, that function.
        device: where it shall compute; where it was trained makes no difference.

    Raises:
        ModelFileError: a file is missing, damaged, changed, or from a newer version.
    """
    folder = require_folder(folder, "load_model")
    content, payload = _read(folder / "model.json"), _read(folder / "model.safetensors")
    document = checked(content, folder / "model.json")
    if (folder / WAITING).is_file() and _is_payload_of(folder / "model.json", folder / WAITING):
        payload = _read(folder / WAITING)  # a save was killed just before its last step
    if hashlib.sha256(payload).hexdigest() != document.get("tensors_sha256"):
        raise ModelFileError(f"{folder / 'model.safetensors'}: does not match its sha256; it is damaged or changed.")
    _check_recorded(folder / "model.json", content)
    if document.get("format") not in (1, FORMAT):
        known = f"this version reads 1 and {FORMAT}"
        raise ModelFileError(f"{folder / 'model.json'}: format {document.get('format')}; {known}.")
    kind = _class_of(folder, document.get("method"), method)
    try:
        parameters = dict(document["parameters"])
        if parameters.get("encoder") == _FOREIGN:
            if encoder is None:
                raise ModelFileError(
                    f"{folder}: its encoder is a module of the user's own; pass it: "
                    f"{placeholder(python='encoder=module', command_line=flag('encoder') + ' package.module:factory')}."
                )
            parameters["encoder"] = resolve_encoder(encoder, len(document["facts"]["channels"]))
        if parameters.get("basis") == _FOREIGN:
            if basis is None:
                raise ModelFileError(f"{folder}: its basis is a function of the user's own; pass it: basis=function.")
            parameters["basis"] = basis
        parameters = {name: _unlisted(value) for name, value in parameters.items()}
        if "device" in parameters:
            parameters["device"] = device
        check_settings(kind, parameters)
        facts = Facts.model_validate_json(json.dumps(document["facts"]))
        _check_recipe(facts)
        tensors = safetensors.torch.load(payload)  # safe: numbers only, and their sha256 is checked above
        restored: Estimator = kind(**parameters).restore(_finite(tensors), facts)
        threshold = document.get("threshold", 0.5)
        return restored if threshold == 0.5 else restored.with_threshold(threshold)
    except ModelFileError:
        raise
    except (FairviewError, KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise ModelFileError(f"{folder}: not a model of this version ({in_one_line(error)}).") from None
    except Exception as error:
        raise ModelFileError(f"{folder}: can't be read ({in_one_line(error)}).") from None


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one form in which a document is written: as JSON whose `sha256` is that of the same text without it."""
    rest = {name: value for name, value in document.items() if name != "sha256"}
    return _text(rest | {"sha256": hashlib.sha256(_text(rest)).hexdigest()})


def checked(content: bytes, name: str | Path) -> dict[str, Any]:
    """The document, if every byte is as `canonical` wrote it."""
    body, brace, last_line = content.rpartition(b"}\n")
    try:
        document = json.loads(body + brace)
        # a line below the object: format 1. Repeated keys, which readers of JSON disagree about, are not as written.
        old = _text(document) + hashlib.sha256(_text(document)[:-1]).hexdigest().encode() + b"\n" if last_line else b""
        as_written = isinstance(document, dict) and content == (old or canonical(document))
    except (TypeError, ValueError, RecursionError):
        as_written = False
    if not as_written:
        raise ModelFileError(f"{name}: does not match its own sha256; it is damaged or changed.")
    checked_document: dict[str, Any] = document
    return checked_document


def _text(document: Any) -> bytes:
    return (json.dumps(document, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode()


def _class_of(folder: Path, name: Any, given: type | None) -> Any:
    """The class of a method: registered under the name that the file has, or given and of that name."""
    if given is not None and (spec := name_of(given)) != name:
        raise ModelFileError(f"{folder}: holds a model of '{name}', not of '{spec}'.")
    if given is not None or name in METHODS:
        return given or METHODS[name].method
    if isinstance(name, str) and ":" in name:
        given_as = placeholder(python=f"method={name.rpartition(':')[2]}", command_line=f"{flag('method')} {name}")
        raise ModelFileError(
            f"{folder}: holds a model of '{name}', which is not registered; pass its class: {given_as}."
        )
    raise ModelFileError(f"{folder / 'model.json'}: unknown method {name!r}.")


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, LARGEST)
    except InputError as error:
        raise ModelFileError(error.message) from None
    except OSError as error:
        raise ModelFileError(f"{path}: can't be read ({error.strerror or error}).") from None


def _check_recorded(path: Path, content: bytes) -> None:
    """In the folder of a run, it must be the run's model."""
    try:
        check_recorded(path, content)
    except InputError as error:
        raise ModelFileError(error.message) from None


def _finite(tensors: State) -> State:
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"tensor '{name}' is not finite")
    return tensors


def _check_recipe(facts: Facts) -> None:
    """A recipe that makes the model's channels, has a number for each of its own, and repeats no name."""
    if facts.recipe is None:
        return
    features, label, attributes = facts.recipe.features, facts.recipe.label, facts.recipe.attributes
    encoded, channels = sum(len(column.channels) for column in features.columns), len(features.channels)
    lengths = (len(features.fill), len(features.scaling.center), len(features.scaling.spread))
    used = {
        *facts.channels,
        *facts.recipe.similarity_channels,
        *(channel for each in attributes for channel in each.channels),
    }
    if lengths != (encoded, channels, channels) or 0 in features.scaling.spread or not used <= {*features.channels}:
        raise ValueError("the recipe does not fit the channels")
    names = [features.channels, tuple(column.name for column in features.columns), features.indicators]
    names += [column.categories for column in features.columns]
    names += [label.values, label.classes] if label else []
    names += [part for each in attributes for part in (each.values, each.groups)]
    names += [tuple(each.column for each in attributes)]
    if any(len({*group}) != len(group) for group in names):
        raise ValueError("the recipe repeats a name")


def _plain(value: Any) -> Any:
    if callable(value):
        return _FOREIGN
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _unlisted(value: Any) -> Any:
    """JSON has no tuples: where a parameter takes several values, it takes a tuple."""
    if isinstance(value, dict):
        return {name: _unlisted(each) for name, each in value.items()}
    return tuple(value) if isinstance(value, list) else value
