#!/usr/bin/env python3
"""Holds `pageout trace curve` against libCacheSim on the same reference string.

LRU, ARC, S3-FIFO and SIEVE must have the same miss ratio within 0.1 %, with libCacheSim's defaults
and pages of size one; so must demand MIN, which is Belady there. It takes the PyPI package
libcachesim:

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install libcachesim
    cargo build --release
    /tmp/venv/bin/python samples/compare-libcachesim.py sqlite-orders --limit 5%..100%

Exit status 1 if a miss ratio is not within 0.1 %.
"""

import argparse
import csv
import io
import pathlib
import subprocess
import sys
import tempfile

import libcachesim

POLICIES = {
    "lru": libcachesim.LRU,
    "arc": libcachesim.ARC,
    "s3fifo": libcachesim.S3FIFO,
    "sieve": libcachesim.Sieve,
    "min": libcachesim.Belady,
}
# Per cent of the miss ratio.
MOST = 0.1


def arguments():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?", default="sqlite-orders", help="a sample or a file")
    parser.add_argument("--limit", default="5%..100%", help="as of pageout trace curve")
    parser.add_argument("--pageout", default=here.parent / "target/release/pageout")
    return parser.parse_args()


def curve(args):
    """The points of the curve: by limit and policy, its figures."""
    policies = ",".join(POLICIES)
    command = [args.pageout, "trace", "curve", args.trace, "--limit", args.limit]
    command += ["--policy", policies, "--csv"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    points = {}
    for line in csv.DictReader(io.StringIO(text)):
        point = points.setdefault((line["field.limit"], line["axis.policy"]), {})
        point[line["metric"]] = float(line["value"])
    return points


def theirs(policy, frames, string):
    """libCacheSim's miss ratio. A hash table of 2^16 entries to begin with: it grows."""
    kind = libcachesim.TraceType.ORACLE_GENERAL_TRACE
    params = libcachesim.ReaderInitParam()
    params.ignore_obj_size = True
    reader = libcachesim.TraceReader(str(string), kind, params)
    cache = POLICIES[policy](frames, hashpower=16)
    return cache.process_trace(reader)[0]


def main():
    args = arguments()
    points = curve(args)
    worst = 0.0
    print(f"{'limit':>8} {'frames':>8} {'policy':>8} {'pageout':>12} {'libCacheSim':>12} {'%':>8}")
    with tempfile.TemporaryDirectory() as directory:
        string = pathlib.Path(directory) / "string.oracleGeneral"
        command = [args.pageout, "trace", "export", args.trace, "--output", string]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        for (limit, policy), point in points.items():
            frames, ours = int(point["limit"]), point["miss ratio"]
            other = theirs(policy, frames, string)
            apart = 100 * abs(ours - other) / other
            worst = max(worst, apart)
            print(f"{limit:>8} {frames:>8} {policy:>8} {ours:12.8f} {other:12.8f} {apart:8.4f}")
    print(f"at most {worst:.4f} % apart over {len(points)} points")
    return 0 if worst <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
