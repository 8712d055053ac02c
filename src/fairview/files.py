"""How is a file read that may be anything? Never waited for without end, and never larger than expected."""

from __future__ import annotations


def is_utf8(*texts: str) -> bool:
    r"""Whether texts can be written: a file name in another encoding reaches Python with lone surrogates.

    Example:
        >>> is_utf8("café"), is_utf8("caf\udce9")
        (True, False)
    """
    whole = "".join(texts)
    if whole.isascii():
        return True
    try:
        whole.encode()
    except UnicodeEncodeError:
        return False
    return True
