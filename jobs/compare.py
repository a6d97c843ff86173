#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes results.csv, compare.md and compare.png of a directory of compare.sh.

usage: compare.py DIR
"""

import csv
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
from plots import (COLOURS, caveats, draw, mark, quote,  # noqa: E402
                   read_pairs, scaled, size_name, table)

FIGURES = ["messages_per_s", "bytes_per_s", "p50_us", "p99_us",
           "cpu_us_per_op", "writes_per_op", "doorbells_per_op"]

# How each tool is called in tables; {b} is the batch, {d} the depth.
TOOLS = {
    "fio-rdma": "fio rdma",
    "plain": "rdma_batch, as the others",
    "busy": "rdma_batch",
    "event": "rdma_batch, poll=event",
    "l1": "perftest -l 1",
    "lB": "perftest -l {b}",
    "lBQB": "perftest -l {b} -Q {b}",
    "lD": "perftest -l {d}",
}

# Bars that fit in 800 pixels with names that can be read.
CELLS_SHOWN = 4

COMPARABLE = """\
## What is comparable, and what is not

Comparable: every tool moves messages of the same size, the same way, over the
same device and path, with the same number in flight, for the same time; the
tools take turns, and a figure is the median of its runs.

- **fio rdma** is fio's own engine. It rings one doorbell for each message
  whatever the batch, asks for a completion of every message, has one QP, and
  one READ outstanding whatever the depth; its READs are therefore latency over
  and over. It sleeps half a second within its measured time unless ramp_time
  covers it, which the ramp here does when it is 2 s. It cannot verify, and the
  remote offset of its messages is not fio's.
- **rdma_batch, as the others** has signal_interval=1 (a completion for every
  message, as fio rdma) and rd_atomic=1 (one READ outstanding a QP); the other
  rows of rdma_batch have the defaults: a completion for each doorbell, and as
  many READs as both devices have. poll=event sleeps in place of spinning: look
  at its processor time, not at its rate.
- **perftest** writes to, or reads from, the same place over and over and keeps
  no time of single messages, so it has no latencies here, and it does not do
  what any fio engine pays fio for: making each I/O, choosing its offset, two
  looks at the clock for it. -l is its batch; its READs have as many outstanding
  as the device has. With several QPs it posts to each in turn, each list to
  one QP, as stripe=batch does.
- **Latency** of rdma_batch is from the doorbell to the completion; that of
  fio rdma from the end of its post.
- **Processor time** is of the whole client process, from /proc, between two
  looks while it works, divided by the operations of that time at the run's mean
  rate. All spin, except for poll=event, so for the others it is the inverse of
  the rate; where there is one CPU, rdma_batch gives it away between its polls,
  and the others do not.
- **write()/op** counts the write() calls of the process in the same way. On
  soft-RoCE each doorbell is one, and with poll=event each arming of the
  completion queue too; with a NIC doorbells are no system calls, and the column
  says nothing. doorbells/op is rdma_batch's own count.
"""


def read_runs(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def median(runs, figure):
    found = [float(run[figure]) for run in runs if run[figure]]
    return statistics.median(found) if found else None


def label(tool, batch, depth):
    return TOOLS.get(tool, tool).format(b=batch, d=depth)


def summarize(runs):
    """A row for each cell and tool, in the order in which they came."""
    found = {}
    for run in runs:
        key = (run["op"], int(run["size"]), int(run["batch"]),
               int(run["qps"]), run["depth"], run["tool"])
        found.setdefault(key, []).append(run)
    rows = []
    for key, there in found.items():
        row = dict(zip(("op", "size", "batch", "qps", "depth", "tool"), key))
        good = [run for run in there if run["messages_per_s"]]
        rates = [float(run["messages_per_s"]) for run in good]
        row.update({figure: median(good, figure) for figure in FIGURES})
        row.update(runs=len(good), failed=len(there) - len(good),
                   least=min(rates, default=None), most=max(rates, default=None))
        rows.append(row)
    return rows


def cells(rows):
    found = {}
    for row in rows:
        key = (row["op"], row["size"], row["batch"], row["qps"])
        found.setdefault(key, []).append(row)
    return found


def digits(value, places):
    return "-" if value is None else f"{value:.{places}f}"


def cell_table(rows):
    """Rates, and each beside fio's rdma and the best of perftest."""
    builtin = next((r["messages_per_s"] for r in rows
                    if r["tool"] == "fio-rdma"), None)
    best = max((r["messages_per_s"] for r in rows if r["tool"][0] == "l"
                and r["messages_per_s"]), default=None)

    def ratio(row, other):
        if not row["messages_per_s"] or not other:
            return "-"
        return f"{row['messages_per_s'] / other:.2f}"

    return table(
        ["tool", "messages/s", "least..most", "throughput", "x fio rdma",
         "x best perftest", "CPU, us/op", "write()/op", "doorbells/op",
         "p50, us", "p99, us", "runs"],
        [[label(r["tool"], r["batch"], r["depth"]),
          scaled(r["messages_per_s"]),
          f"{scaled(r['least'])}..{scaled(r['most'])}",
          scaled(r["bytes_per_s"], "B/s"), ratio(r, builtin), ratio(r, best),
          digits(r["cpu_us_per_op"], 3), digits(r["writes_per_op"], 3),
          digits(r["doorbells_per_op"], 4), digits(r["p50_us"], 1),
          digits(r["p99_us"], 1),
          f"{r['runs']}" + (f", {r['failed']} failed" if r["failed"] else "")]
         for r in rows])


def cell_name(key):
    op, size, batch, qps = key
    return f"{op}, {size_name(size)}, batch {batch}, {qps} QP" + \
        ("s" if qps > 1 else "")


def plot(directory, rows, note):
    """Bars of messages/s, a cluster for each cell; False if there are none."""
    shown = list(cells(rows).items())[:CELLS_SHOWN]
    tools = [t for t in TOOLS if any(r["tool"] == t for _, there in shown
                                     for r in there)]
    batches = sorted({key[2] for key, _ in shown})
    name_b = str(batches[0]) if len(batches) == 1 else "batch"
    depth = rows[0]["depth"]
    data = ""
    for (op, size, batch, qps), there in shown:
        by_tool = {r["tool"]: r for r in there}
        data += f'"{op} {size_name(size)}\\nbatch {batch}, {qps} QP"'
        for tool in tools:
            row = by_tool.get(tool, {})
            bar = [row.get(f) for f in ("messages_per_s", "least", "most")]
            data += "".join(f" {'NaN' if v is None else v}" for v in bar)
        data += "\n"
    bars = ", \\\n".join(
        f"DATA using {2 + 3 * i}:{3 + 3 * i}:{4 + 3 * i}"
        f"{':xtic(1)' if i == 0 else ''} linecolor rgb "
        f"{quote(COLOURS[i % len(COLOURS)])} "
        f"title {quote(label(tool, name_b, depth))}"
        for i, tool in enumerate(tools))
    return draw(directory, "compare",
                (f"messages per second, depth {depth}: medians, "
                 "least and most", note), data,
                "set style data histograms\n"
                "set style histogram errorbars gap 2 linewidth 1\n"
                "set style fill solid 0.85\nset boxwidth 0.9\n"
                "set key at screen 0.98, screen 0.2 horizontal maxrows 3\n"
                "set bmargin 9\nset rmargin 3\nunset xlabel\n"
                "set yrange [0:*]\nset format y '%.1s %c'\n"
                "set ylabel 'messages per second'\n"
                "set xtics scale 0\nset grid noxtics ytics\n"
                f"plot {bars}\n")


def failures(runs):
    bad = [run for run in runs if not run["messages_per_s"]]
    if not bad:
        return ""
    return "## Failed runs\n\n" + table(
        ["tool", "op", "size", "batch", "QPs", "round", "why"],
        [[run[c] for c in ("tool", "op", "size", "batch", "qps", "round",
                           "error")] for run in bad])


def report(directory, runs, rows, config, host):
    text = ["# rdma_batch beside fio's rdma and perftest\n",
            f"Begun {(directory / 'began').read_text().strip()}.\n"]
    text += [line + "\n" for line in caveats(host)]
    if plot(directory, rows, mark(host)):
        text.append("![messages per second](compare.png)\n")
        if len(cells(rows)) > CELLS_SHOWN:
            text.append(f"The plot shows the first {CELLS_SHOWN} of "
                        f"{len(cells(rows))} cells.\n")
    for key, there in cells(rows).items():
        text += [f"## {cell_name(key)}\n", cell_table(there)]
    text += [failures(runs), COMPARABLE]
    for title, pairs in (("Machine", host), ("Options", config)):
        text += [f"## {title}\n",
                 table(["", ""], [(n, v.strip()) for n, v in pairs])]
    return "\n".join(text)


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) /
                                  "runs.csv").exists():
        sys.exit("usage: compare.py DIR, a directory that compare.sh made")
    directory = pathlib.Path(sys.argv[1])
    runs = read_runs(directory / "runs.csv")
    if not runs:
        sys.exit(f"compare.py: {directory / 'runs.csv'} has no runs")
    rows = summarize(runs)
    with open(directory / "results.csv", "w", newline="",
              encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    text = report(directory, runs, rows,
                  read_pairs(directory / "config", "="),
                  read_pairs(directory / "host", ": "))
    (directory / "compare.md").write_text(text, encoding="utf-8")
    print(f"compare.py: {directory / 'compare.md'}")


if __name__ == "__main__":
    main()
