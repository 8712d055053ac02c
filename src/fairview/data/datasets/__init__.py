"""Known datasets -> NodeGraph: what is known of each, where its files lie, and how it is loaded."""

from fairview.data.datasets.entry import Dataset as Dataset
from fairview.data.datasets.files import FoundFiles as FoundFiles
from fairview.data.datasets.registry import dataset_names as dataset_names
from fairview.data.datasets.registry import describe as describe
from fairview.data.datasets.registry import fetch_dataset as fetch_dataset
from fairview.data.datasets.registry import find_files as find_files
from fairview.data.datasets.registry import load_dataset as load_dataset
from fairview.data.datasets.registry import table_columns as table_columns
