"""What `tutti bench` can measure: the testbed and the protocols."""

# name -> (module, function, what it measures); the function returns a Row or several
BENCHES = {
    "platform": ("harness.bench.platform", "bench_platform", "whole runs against a naive testbed in the same kernel"),
    "forks": ("harness.bench.forks", "bench_forks", "three times a thousand runs: do their captures differ?"),
    "decode": ("harness.bench.decode", "bench_decode", "the columnar decoder against Scapy, dpkt, tshark and C"),
    "fuzz": ("harness.bench.fuzz", "bench_fuzz", "a million wrong inputs for the codec, the reader and the decoder"),
    "evidence": (
        "harness.bench.evidence",
        "bench_evidence",
        "evidence and verdict of 10^6 deliveries, beside decoding",
    ),
    "judges": ("harness.bench.judges", "bench_judges", "judging 10^6 deliveries, and how the time grows"),
    "st": ("harness.bench.st", "bench_st", "ST: confirmations, latency under loss, growth with n"),
    "to": ("harness.bench.to", "bench_to", "TO: from a crash to the view, and back"),
    "him": ("harness.bench.him", "bench_him", "HIM: confirmation time under loss"),
    "causal": ("harness.bench.causal", "bench_causal", "delta and cmd: tag bytes and delay against the baselines"),
    "sweep": ("harness.bench.sweep", "bench_sweep", "runs per hour, the scheduler's cost, aggregation"),
    "explore": ("harness.bench.explore", "bench_explore", "the search: cases/s, and when it finds each printed rule"),
    "levels": ("harness.bench.levels", "bench_levels", "cases of the search, in memory and on the network"),
    "mutants": ("harness.bench.mutants", "bench_mutants", "do the tests see it when a protocol is changed?"),
    "report": ("harness.bench.report", "bench_report", "the report of 100,000 events in a browser"),
}
