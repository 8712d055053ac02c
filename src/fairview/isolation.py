"""Does a result depend on what the caller's program set before? Not inside `isolated`.

torch, numpy, scikit-learn, BLAS and Python keep settings for a whole process or thread: the default dtype, autocast,
random states, threads. Inside `isolated` they are as in a fresh process, and randomness begins anew; outside they are
as the caller left them, also after an error. What decides nothing stays the caller's: deterministic algorithms, anomaly
detection, filters of warnings (docs/adr/0021).
"""

from __future__ import annotations

import functools
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np

Setting = tuple[Callable[[], Any], Callable[[Any], Any], Any]
"""How a setting is read and written, and its value inside."""


@contextmanager
def isolated() -> Iterator[None]:
    """Inside, nothing depends on the caller's settings; outside, nothing of them changes. Also a decorator.

    May be nested, and used by several threads at once.

    Example:
        >>> random.seed(7)
        >>> before = random.getstate()
        >>> with isolated():
        ...     first = random.random()
        >>> with isolated():
        ...     first == random.random()
        True
        >>> random.getstate() == before
        True
    """
    with ExitStack() as stack:
        stack.enter_context(_process_settings())
        stack.enter_context(_numpy_settings())
        if "sklearn" in sys.modules:
            stack.enter_context(_sklearn_settings())
        if "torch" in sys.modules:  # what is not loaded has not been changed
            stack.enter_context(_torch_settings())
        yield


# --- settings of the process: several threads share them --------------------------------------------------------------

_lock = threading.Lock()
_inside: Counter[int] = Counter()
"""How deep each thread is inside."""
_callers: list[Any] = []
"""The values before the first thread came in."""


@contextmanager
def _process_settings() -> Iterator[None]:
    """The last thread to leave restores what the first one found."""
    thread = threading.get_ident()
    settings = _settings()
    with _lock:
        before = [read() for read, _, _ in settings]
        if not _inside:
            _callers[:] = before
        _inside[thread] += 1
        _write(settings, [value for _, _, value in settings])
    try:
        yield
    finally:
        with _lock:
            _inside[thread] -= 1
            if not _inside[thread]:
                del _inside[thread]
            if not _inside:
                _write(settings, _callers)
            elif set(_inside) == {thread}:
                _write(settings, before)


def _write(settings: list[Setting], values: list[Any]) -> None:
    for (_, write, _), value in zip(settings, values, strict=False):  # torch may have been loaded meanwhile
        write(value)


def _settings() -> list[Setting]:
    known: list[Setting] = [*_python_settings()]
    known += [(library.get_num_threads, library.set_num_threads, 1) for library in _blas()]
    return known + (_torch_process_settings() if "torch" in sys.modules else [])


@functools.cache
def _python_settings() -> tuple[Setting, ...]:
    """Global streams of randomness, for code of the user's that draws from them."""
    fresh = np.random.RandomState(0).get_state(legacy=False)
    return (
        (random.getstate, random.setstate, random.Random(0).getstate()),  # noqa: S311 - no secret
        (functools.partial(np.random.get_state, legacy=False), _set_numpy_stream, fresh),
    )


def _set_numpy_stream(state: Any) -> None:
    with suppress(ValueError):  # a caller who has put another kind of generator there keeps it
        np.random.set_state(state)  # noqa: NPY002


@functools.cache
def _blas() -> list[Any]:
    """numpy's and scipy's BLAS. Their sums are split among threads, so that a second one changes the last bits."""
    import scipy.linalg  # noqa: F401 - so that it is among them
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _torch_process_settings() -> list[Setting]:
    import torch

    fresh = _torch_stream()
    known: list[Setting] = [
        (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
        (torch.default_generator.get_state, torch.default_generator.set_state, fresh),
        (torch.get_num_threads, torch.set_num_threads, 1),
    ]
    products = [getattr(backend, "matmul", None) for backend in (torch.backends.mkldnn, torch.backends.cuda)]
    if all(hasattr(product, "fp32_precision") for product in products):
        return known + [(_reader(product), _writer(product), "ieee") for product in products]
    legacy = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"  # before torch 2.9
    return [*known, legacy]


@functools.cache
def _torch_stream() -> Any:
    import torch

    return torch.Generator(device="cpu").manual_seed(0).get_state()


def _reader(product: Any) -> Callable[[], str]:
    return lambda: str(product.fp32_precision)


def _writer(product: Any) -> Callable[[str], None]:
    return functools.partial(setattr, product, "fp32_precision")


# --- settings of the thread -------------------------------------------------------------------------------------------


def _numpy_settings() -> np.errstate:
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


def _sklearn_settings() -> Any:
    from sklearn import config_context

    return config_context(transform_output="default", assume_finite=False, array_api_dispatch=False)


@contextmanager
def _torch_settings() -> Iterator[None]:
    import torch

    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        if _flushes_denormals():
            torch.set_flush_denormal(False)
            stack.callback(torch.set_flush_denormal, True)
        yield


def _flushes_denormals() -> bool:
    """torch does not tell: half of the least normal number shows it."""
    return sys.float_info.min / 2 == 0.0
