"""Settings of all tests."""

import os

from hypothesis import settings

# No deadlines: a busy machine is no bug. The same examples in every CI run; new ones on a developer's machine.
settings.register_profile("fairview", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("fairview")
