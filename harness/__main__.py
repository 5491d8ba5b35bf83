"""`python -m harness`: the command line."""

import sys
from typing import Any

from harness.cli import main


class _WithoutPandas:
    """pyarrow imports pandas when it makes its first array, if it finds it: a third of what a run costs on this side of
    the guest, and nothing of ours uses it. Spark does not either, but insists on it."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas" and "pyspark" not in sys.modules:
            raise ModuleNotFoundError(f"no command of tutti uses {name}")


if __name__ == "__main__":
    sys.meta_path.insert(0, _WithoutPandas())
    sys.exit(main())
