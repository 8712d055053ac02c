import pytest


@pytest.fixture(scope="session", autouse=True)
def graphs_are_small(one_thread: None) -> None:
    """Waking a second thread would cost more than all the work."""
