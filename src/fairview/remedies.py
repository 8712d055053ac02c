"""What can the reader do about a problem? A way out that needs an option is named only to those who have the option.

A model's recipe decides how new tables are read, so `read_graph(recipe=...)` takes no `missing`, and `fairview predict`
has no such option. Both say `offering(...)` once; the messages below them leave out what can't be done.
"""

from __future__ import annotations

from fairview.errors import WITHHELD
from fairview.offered import is_offered


def remedies(*ways: str) -> str:
    """A sentence with a blank before it, the ways joined with "or"; empty if none is left.

    A way is left out if it contains an `option(...)`, or is `only_with(...)` one, that the reader does not have.

    Example:
        >>> from fairview.errors import Message, option
        >>> from fairview.offered import offering
        >>> def advice():
        ...     return Message("2 cells are empty." + remedies("fill them", f"pass {option('missing', 'mean')}"))
        >>> advice()
        "2 cells are empty. Fill them, or pass missing='mean'."
        >>> with offering(lambda name: name != "missing"):
        ...     advice()
        '2 cells are empty. Fill them.'
    """
    *first, last = [way for way in ways if WITHHELD not in way] or [""]
    sentence = f"{', '.join(first)}, or {last}" if first else last
    return f" {sentence[0].upper()}{sentence[1:]}." if sentence else ""


def only_with(name: str, way: str) -> str:
    """A way out that needs an option without naming it: "drop the column" is of no use to those who can't."""
    return way if is_offered(name) else WITHHELD + way
