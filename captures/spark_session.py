"""A Spark session that knows this checkout and the data source "pcap"."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from captures.spark_source import PcapSource

ROOT = Path(__file__).parents[1]


def spark_session(
    master: str = "local[2]", name: str = "tutti", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session. Small defaults: captures are many small files, and a session on one machine should start quickly."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    # The worker that plans a Python data source inherits both from this process.
    os.environ["PYTHONPATH"] = path
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master(master)
        .appName(name)
        .config("spark.executorEnv.PYTHONPATH", path)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "16384")
    )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # that pandas is newer than PySpark: no pandas is used here
        session = builder.getOrCreate()
    session.dataSource.register(PcapSource)
    return session
