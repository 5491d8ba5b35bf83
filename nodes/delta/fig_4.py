"""What Fig. 4 of paper 002 must show. The figure itself is not in the paper's text, and neither is the load.

Two simulations of ours stand for it: a table of one run of 9,000 messages a point, and later ones of the machine in
memory, three times as long, which also give the standard errors (by batch means). N = 10, unicast to a random other
process, Poisson sending, Δ = 5 mean delays; delays are normal, cut off at 0 and fitted to the mean and to one late
message in 10,000 (topologies/distributions.py; D-DC-10).
"""

from __future__ import annotations

import math

from nodes.delta.evaluation import Point

PROCESSES = 10
DELTA_PER_MEAN_DELAY = 5
MESSAGES_PER_POINT = 9000  # of the table
MESSAGES_IN_MEMORY = 27_000

# load (messages per process per mean delay) -> MAX_CB -> what is expected
FIG_4: dict[float, dict[int, Point]] = {
    1: {
        1: Point(0.659, 0.513, 0.1623, 0.317, 6.0),
        2: Point(0.265, 0.145, 0.0277, 0.191, 8.9),
        3: Point(0.079, 0.034, 0.0046, 0.135, 10.0),
        4: Point(0.018, 0.007, 0.0007, 0.104, 10.2),
        5: Point(0.004, 0.001, 0.0001, 0.060, 10.3),
        6: Point(0.0003, 0, 0, None, 10.3),
    },
    2: {
        1: Point(0.909, 0.762, 0.2243, 0.294, 8.2),
        2: Point(0.642, 0.387, 0.0796, 0.206, 14.3),
        3: Point(0.452, 0.219, 0.0341, 0.156, 19.1),
        4: Point(0.268, 0.106, 0.0134, 0.127, 22.2),
        5: Point(0.127, 0.044, 0.0045, 0.102, 23.9),
        6: Point(0.044, 0.012, 0.0009, 0.079, 24.6),
        7: Point(0.012, 0.002, 0.0002, 0.077, 24.8),
        8: Point(0.002, 0, 0, 0.039, 24.8),
        9: Point(0, 0, 0, None, 24.8),
    },
    5: {
        1: Point(0.997, 0.946, 0.2220, 0.235, 9.0),
        2: Point(0.814, 0.596, 0.1331, 0.223, 16.3),
        3: Point(0.752, 0.477, 0.0927, 0.195, 23.3),
        4: Point(0.702, 0.382, 0.0637, 0.167, 30.0),
        5: Point(0.640, 0.305, 0.0439, 0.144, 36.4),
        6: Point(0.542, 0.218, 0.0275, 0.126, 42.2),
        7: Point(0.403, 0.138, 0.0150, 0.109, 46.6),
        8: Point(0.234, 0.059, 0.0057, 0.095, 49.6),
        9: Point(0.063, 0.015, 0.0013, 0.088, 50.7),
        10: Point(0, 0, 0, None, 50.9),
    },
}

# ε / Δ -> load -> MAX_CB -> what the longer runs gave in the steady state, and its standard errors. With skew half of
# the clocks are ahead by ε.
IN_MEMORY: dict[float, dict[float, dict[int, tuple[Point, Point]]]] = {
    0: {
        1: {
            1: (Point(0.6699, 0.5174, 0.16408, 0.317, 5.99), Point(0.0037, 0.0034, 0.00106, None, 0.03)),
            2: (Point(0.2688, 0.1451, 0.02695, 0.186, 8.95), Point(0.0045, 0.0029, 0.00065, None, 0.05)),
            3: (Point(0.091, 0.0376, 0.00476, 0.127, 10.15), Point(0.0027, 0.0015, 0.00027, None, 0.1)),
            4: (Point(0.0247, 0.0086, 0.00089, 0.103, 10.67), Point(0.0012, 0.0005, 0.00007, None, 0.1)),
            5: (Point(0.004, 0.0009, 0.00008, 0.093, 10.41), Point(0.0003, 0.0002, 0.00002, None, 0.09)),
            6: (Point(0.0005, 0.0001, 0, 0.054, 10.42), Point(0.0001, 0.0001, 0, None, 0.09)),
            7: (Point(0, 0, 0, None, 10.63), Point(0, 0, 0, None, 0.11)),
            8: (Point(0, 0, 0, None, 10.71), Point(0, 0, 0, None, 0.1)),
        },
        2: {
            1: (Point(0.9106, 0.7612, 0.22335, 0.293, 8.2), Point(0.0019, 0.0025, 0.0011, None, 0.02)),
            2: (Point(0.6416, 0.3966, 0.08228, 0.207, 14.36), Point(0.0038, 0.0032, 0.00082, None, 0.05)),
            3: (Point(0.4571, 0.2218, 0.03516, 0.159, 19.15), Point(0.0045, 0.0032, 0.0006, None, 0.06)),
            4: (Point(0.288, 0.1181, 0.0152, 0.129, 22.68), Point(0.0063, 0.0029, 0.00047, None, 0.12)),
            5: (Point(0.1381, 0.0452, 0.00473, 0.105, 24.3), Point(0.0035, 0.0019, 0.00029, None, 0.15)),
            6: (Point(0.0492, 0.0137, 0.00118, 0.086, 24.92), Point(0.0022, 0.0009, 0.00009, None, 0.2)),
            7: (Point(0.0129, 0.0026, 0.00019, 0.075, 25.17), Point(0.001, 0.0003, 0.00004, None, 0.22)),
            8: (Point(0.0015, 0.0004, 0.00004, 0.095, 25.31), Point(0.0002, 0.0001, 0.00002, None, 0.21)),
            9: (Point(0.0001, 0, 0, None, 25.41), Point(0.0001, 0, 0, None, 0.17)),
            10: (Point(0, 0, 0, None, 25.26), Point(0, 0, 0, None, 0.15)),
        },
        5: {
            1: (Point(0.9974, 0.9446, 0.22387, 0.237, 8.98), Point(0.0003, 0.0015, 0.00071, None, 0)),
            2: (Point(0.8135, 0.5908, 0.13415, 0.227, 16.29), Point(0.0024, 0.0035, 0.00094, None, 0.01)),
            3: (Point(0.751, 0.4837, 0.09493, 0.196, 23.23), Point(0.0035, 0.0043, 0.00107, None, 0.04)),
            4: (Point(0.6997, 0.3887, 0.06597, 0.17, 29.98), Point(0.0033, 0.0036, 0.00068, None, 0.05)),
            5: (Point(0.6334, 0.3116, 0.0461, 0.148, 36.33), Point(0.0043, 0.004, 0.00083, None, 0.06)),
            6: (Point(0.5572, 0.2374, 0.03077, 0.13, 42.28), Point(0.0049, 0.0036, 0.00052, None, 0.1)),
            7: (Point(0.4205, 0.1494, 0.01683, 0.113, 47.01), Point(0.0062, 0.0042, 0.00062, None, 0.13)),
            8: (Point(0.2376, 0.0695, 0.00676, 0.097, 49.86), Point(0.0072, 0.0032, 0.00031, None, 0.18)),
            9: (Point(0.0747, 0.0168, 0.00143, 0.085, 51.63), Point(0.0033, 0.0009, 0.0001, None, 0.22)),
            10: (Point(0, 0, 0, None, 51.25), Point(0, 0, 0, None, 0.2)),
        },
    },
    0.2: {
        1: {
            1: (Point(0.7505, 0.6088, 0.23342, 0.383, 6.75), Point(0.0032, 0.0033, 0.00127, None, 0.03)),
            2: (Point(0.3784, 0.2224, 0.05385, 0.242, 10.75), Point(0.0033, 0.0035, 0.00112, None, 0.05)),
            3: (Point(0.1751, 0.082, 0.01371, 0.167, 12.9), Point(0.0042, 0.0025, 0.00062, None, 0.1)),
            4: (Point(0.0634, 0.0241, 0.00318, 0.132, 13.97), Point(0.0028, 0.0012, 0.0002, None, 0.13)),
            5: (Point(0.0146, 0.0041, 0.0005, 0.124, 13.82), Point(0.001, 0.0003, 0.00005, None, 0.13)),
            6: (Point(0.0028, 0.0005, 0.00006, 0.119, 13.88), Point(0.0004, 0.0001, 0.00002, None, 0.13)),
            7: (Point(0.0005, 0.0001, 0.00001, 0.064, 14.14), Point(0.0001, 0.0001, 0.00001, None, 0.14)),
            8: (Point(0, 0, 0, None, 14.24), Point(0, 0, 0, None, 0.15)),
        },
        2: {
            1: (Point(0.947, 0.8312, 0.28984, 0.349, 8.52), Point(0.0015, 0.0018, 0.00118, None, 0.01)),
            2: (Point(0.7052, 0.4819, 0.13161, 0.273, 15.17), Point(0.0035, 0.0028, 0.00079, None, 0.03)),
            3: (Point(0.5694, 0.3279, 0.0692, 0.211, 20.92), Point(0.0042, 0.004, 0.00082, None, 0.06)),
            4: (Point(0.4331, 0.2164, 0.03759, 0.174, 25.86), Point(0.0055, 0.0044, 0.00091, None, 0.11)),
            5: (Point(0.267, 0.1115, 0.01601, 0.144, 28.97), Point(0.005, 0.0028, 0.0005, None, 0.16)),
            6: (Point(0.1301, 0.0458, 0.0058, 0.127, 30.75), Point(0.0046, 0.0022, 0.00029, None, 0.19)),
            7: (Point(0.0478, 0.0133, 0.00132, 0.1, 31.61), Point(0.0026, 0.0011, 0.00014, None, 0.26)),
            8: (Point(0.0099, 0.0025, 0.00025, 0.1, 31.87), Point(0.0008, 0.0004, 0.00005, None, 0.23)),
            9: (Point(0.0015, 0.0002, 0.00001, 0.073, 32.07), Point(0.0003, 0.0001, 0.00001, None, 0.16)),
            10: (Point(0, 0, 0, None, 31.81), Point(0, 0, 0, None, 0.17)),
        },
        5: {
            1: (Point(0.9995, 0.966, 0.25757, 0.267, 8.99), Point(0.0001, 0.0009, 0.00072, None, 0)),
            2: (Point(0.8103, 0.6115, 0.17232, 0.282, 16.29), Point(0.0024, 0.0027, 0.001, None, 0.02)),
            3: (Point(0.7554, 0.5156, 0.13402, 0.26, 23.17), Point(0.0029, 0.0036, 0.00095, None, 0.03)),
            4: (Point(0.7156, 0.4418, 0.10289, 0.233, 29.96), Point(0.0032, 0.0032, 0.00085, None, 0.06)),
            5: (Point(0.6746, 0.3854, 0.07958, 0.206, 36.64), Point(0.0038, 0.0032, 0.00096, None, 0.06)),
            6: (Point(0.623, 0.3298, 0.0606, 0.184, 43.07), Point(0.0034, 0.0044, 0.00089, None, 0.07)),
            7: (Point(0.5361, 0.2518, 0.04066, 0.161, 49.13), Point(0.0054, 0.0039, 0.00072, None, 0.14)),
            8: (Point(0.38, 0.1514, 0.02115, 0.14, 54.03), Point(0.0075, 0.0043, 0.00073, None, 0.11)),
            9: (Point(0.176, 0.0574, 0.00722, 0.126, 57.33), Point(0.0056, 0.0029, 0.00047, None, 0.2)),
            10: (Point(0, 0, 0, None, 57.65), Point(0, 0, 0, None, 0.19)),
        },
    },
}


def found(load: float, max_cb: int, skew: float = 0) -> tuple[Point, Point] | None:
    """What to expect of a point, and its standard errors: of the table, or with skew of the runs in memory."""
    known = IN_MEMORY.get(skew, {}).get(load, {}).get(max_cb)
    table = FIG_4.get(load, {}).get(max_cb)
    if skew or known is None or table is None:
        return known if skew else None
    shorter = math.sqrt(MESSAGES_IN_MEMORY / MESSAGES_PER_POINT)
    error = known[1]
    return table, Point(
        error.rate_max * shorter,
        error.rate_wait * shorter,
        error.rate_w_time * shorter,
        None,
        error.tag_entries * shorter,
    )
