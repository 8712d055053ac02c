"""How large may a table be? Beyond these limits it is refused, with the number and what to do (docs/limits.md)."""

from __future__ import annotations

MOST_BYTES = 4 * 1024**3
"""Of a table: read from a file, or expanded from a compressed one."""

MOST_EXPANSION = 200
"""Times that a compressed file may grow beyond `SMALL`: text reaches 5 to 20, a bomb 1,000."""

SMALL = 10 * 1024**2
"""Bytes below which a file is harmless, however well it compresses."""

MOST_MEMBERS = 10_000
"""Of a zip archive."""

MOST_ROWS = 1_000_000_000
"""Of a table: nodes or edges."""

MOST_COLUMNS = 200_000

MOST_CHANNELS = 200_000
"""After one-hot encoding."""

MOST_VALUES = 2_000_000_000
"""Cells of a Parquet table, and nodes times channels: 16 GB while a table is read."""

LONGEST_NAME = 1_000
"""Characters of a column's name."""

LONGEST_CELL = 1_000
"""Characters of a cell that names something: an id, a label, a group, a category, a split."""

MOST_CATEGORIES = 1_000
"""Values beyond which a column is taken for an id, not for a category."""

MOST_GROUPS = 20
"""Sensitive values beyond which a column is taken for a quantity."""
