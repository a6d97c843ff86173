#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes results.csv, report.md and plots of a directory of sweep.sh.

usage: report.py DIR
"""

import csv
import pathlib
import sys

sys.dont_write_bytecode = True
from plots import (COLOURS, blocks, caveats, draw, mark, quote, read_json,  # noqa: E402
                   read_pairs, scaled, size_name, size_tics, table)

COLUMNS = ["rw", "size_bytes", "batch", "qps", "depth", "state",
           "messages_per_s", "bytes_per_s", "p50_us", "p99_us", "p999_us",
           "mean_us", "cpu_s_per_op", "cpu_percent", "doorbells_per_op", "wrs_per_op",
           "cqes_per_op", "read_stalls", "sq_stalls", "granted_qps",
           "granted_sq_depth", "granted_rd_atomic", "runtime_ms", "error"]

# A job that spins takes a processor whole, unless others have it.
LEAST_CPU_PERCENT = 50
# Settings with which a job sleeps now and then.
SLEEPING = ("set poll", "set rate", "set thinktime")


def latency(directions, percentile):
    """The worse of the two directions', in us; None when fio took none."""
    found = [d["clat_ns"]["percentile"][percentile] / 1e3 for d in directions
             if "percentile" in d["clat_ns"]]
    return max(found, default=None)


def of_fio(job):
    """A point's figures as fio saw them."""
    both = [job["read"], job["write"]]
    ops = sum(d["total_ios"] for d in both)
    busy_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    means = [d["clat_ns"]["mean"] / 1e3 for d in both if d["total_ios"]]
    return {
        "messages_per_s": round(sum(d["iops"] for d in both), 1),
        "bytes_per_s": sum(d["bw_bytes"] for d in both),
        "p50_us": latency(both, "50.000000"),
        "p99_us": latency(both, "99.000000"),
        "p999_us": latency(both, "99.900000"),
        "mean_us": round(max(means), 3) if any(means) else None,
        "cpu_s_per_op": f"{busy_s / ops:.4g}",
        "cpu_percent": round(job["usr_cpu"] + job["sys_cpu"], 1),
        "runtime_ms": job["job_runtime"],
    }


def of_engine(stats):
    """What the engine counted, from the job's first I/O to its last."""
    ops = stats["ops"] or 1
    granted = stats["granted"]
    return {
        "doorbells_per_op": round(stats["doorbells"] / ops, 5),
        "wrs_per_op": round(stats["wrs"] / ops, 5),
        "cqes_per_op": round(stats["cqes"] / ops, 5),
        "read_stalls": stats["read_stalls"],
        "sq_stalls": stats["sq_stalls"],
        "granted_qps": granted["qps"],
        "granted_sq_depth": granted["sq_depth"],
        "granted_rd_atomic": granted["rd_atomic"],
    }


def point_name(row):
    """The beginning of the names of a point's files."""
    return (f"{row['rw']}-bs{row['size_bytes']}-b{row['batch']}"
            f"-q{row['qps']}-d{row['depth']}")


def read_point(points, words):
    """One row of the table, whether the point was measured or not."""
    rw, size, batch, qps, depth = words
    row = {"rw": rw, "size_bytes": int(size), "batch": int(batch),
           "qps": int(qps), "depth": int(depth), "state": "missing"}
    name = point_name(row)
    failed = points / f"{name}.failed"
    if (points / f"{name}.json").exists():
        row.update(of_fio(read_json(points / f"{name}.json")["jobs"][0]))
        row.update(of_engine(read_json(points / f"{name}.stats")))
        row["state"] = "measured"
    elif failed.exists():
        row.update(state="failed", error=failed.read_text().strip())
    return row


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(rows)


def lanes(qps):
    return "1 QP" if qps == 1 else f"{qps} QPs"


def plain(value):
    """Three digits, without a prefix or an exponent."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def values(rows, column):
    return sorted({row[column] for row in rows})


class Sweep:
    """The rows of one direction and one depth, and their plots."""

    def __init__(self, directory, rows, note):
        self.note = note
        self.directory = directory / "plots"
        self.rows = rows
        self.rw = rows[0]["rw"]
        self.depth = rows[0]["depth"]
        self.sizes = values(rows, "size_bytes")
        self.batches = values(rows, "batch")
        self.qps = values(rows, "qps")
        self.small = self.sizes[0]
        self.drawn = []

    def get(self, column, size, batch, qps):
        for row in self.rows:
            if (row["size_bytes"], row["batch"], row["qps"]) == \
                    (size, batch, qps):
                return row.get(column)
        return None

    def draw(self, name, title, data, body):
        name = f"{name}-{self.rw}-d{self.depth}"
        if draw(self.directory, name, (title, self.note), data, body):
            self.drawn.append((name, title))

    def throughput(self, qps):
        series = [(f"batch {b}", [(s, self.get("bytes_per_s", s, b, qps))
                                  for s in self.sizes])
                  for b in self.batches]
        lines = ", \\\n".join(
            f"DATA index {i} using 1:2 with linespoints linewidth 2 "
            f"pointtype {5 + 2 * (i % 5)} linecolor rgb {quote(colour)} "
            f"title {quote(name)}"
            for i, ((name, _), colour)
            in enumerate(zip(series, COLOURS * len(series))))
        self.draw(f"throughput-q{qps}",
                  f"{self.rw}: throughput over message size, "
                  f"{lanes(qps)}, depth {self.depth}",
                  blocks(series),
                  "set logscale x 2\nset logscale y 10\n"
                  f"set xtics ({size_tics(self.sizes)})\n"
                  f"set xrange [{self.sizes[0] / 1.3}:{self.sizes[-1] * 1.3}]\n"
                  "set format y '%.0s %cB/s'\n"
                  "set mytics 10\n"
                  "set xlabel 'message size (bytes, log scale)'\n"
                  "set ylabel 'throughput (bytes per second, log scale)'\n"
                  "set key title 'I/Os of a commit'\n"
                  f"plot {lines}\n")

    def heat_map(self):
        cells = [(x, y, self.get("messages_per_s", self.small, b, q))
                 for y, q in enumerate(self.qps)
                 for x, b in enumerate(self.batches)]
        cells = [(x, y, v, f'"{scaled(v)}"') for x, y, v in cells if v]
        if not cells:
            return
        xtics = ", ".join(f"'{b}' {x}" for x, b in enumerate(self.batches))
        ytics = ", ".join(f"'{q}' {y}" for y, q in enumerate(self.qps))
        # Dark figures on light cells, light ones on dark cells.
        low, high = min(c[2] for c in cells), max(c[2] for c in cells)
        middle = (low + high) / 2
        ink = f"($3 > {middle} || {low} == {high} ? 0xffffff : 0x000000)"
        self.draw("heat", f"{self.rw}: messages per second of "
                  f"{size_name(self.small)}, depth {self.depth}",
                  blocks([("column row messages/s label", cells)]),
                  "unset grid\nunset key\nset border 15\n"
                  f"set xtics ({xtics})\nset ytics ({ytics})\n"
                  f"set xrange [-0.5:{len(self.batches) - 0.5}]\n"
                  f"set yrange [-0.5:{len(self.qps) - 0.5}]\n"
                  f"set cbrange [{low * 0.999}:{high * 1.001}]\n"
                  "set xlabel 'batch (I/Os of a commit)'\n"
                  "set ylabel 'queue pairs'\n"
                  "set format cb '%.1s %c'\n"
                  "set cblabel 'messages per second' offset 1\n"
                  "set rmargin at screen 0.80\n"
                  "set palette defined (0 '#f0f4fa', 0.5 '#6fa8d6', "
                  "1 '#08306b')\n"
                  "plot DATA using 1:2:(0.5):(0.5):3 with boxxyerror "
                  "fillstyle solid fillcolor palette notitle, \\\n"
                  "DATA using 1:2:4:" + ink +
                  " with labels font ',12' textcolor rgb variable noenhanced notitle\n")

    def latency(self):
        series = [(f"{p}, {lanes(q)}",
                   [(b, self.get(column, self.small, b, q))
                    for b in self.batches])
                  for q in self.qps
                  for p, column in (("p50", "p50_us"), ("p99", "p99_us"))]
        if all(y is None for _, points in series for _, y in points):
            return
        lines = ", \\\n".join(
            f"DATA index {i} using 1:2 with linespoints linewidth 2 "
            f"dashtype {1 + i % 2} pointtype {7 if i % 2 == 0 else 6} "
            f"linecolor rgb {quote(COLOURS[i // 2 % len(COLOURS)])} "
            f"title {quote(name)}" for i, (name, _) in enumerate(series))
        xtics = ", ".join(f"'{b}' {b}" for b in self.batches)
        self.draw("latency", f"{self.rw}: latency of {size_name(self.small)} "
                  f"over batch, depth {self.depth}",
                  blocks(series),
                  "set logscale x 2\nset logscale y 10\n"
                  f"set xtics ({xtics})\n"
                  f"set xrange [{self.batches[0] / 1.2}:"
                  f"{self.batches[-1] * 1.2}]\n"
                  "set format y '%.0s %cs'\nset mytics 10\n"
                  "set xlabel 'batch (I/Os of a commit, log scale)'\n"
                  "set ylabel 'doorbell to completion (seconds, log scale)'\n"
                  f"plot {lines.replace('using 1:2', 'using 1:($2*1e-6)')}\n")

    def plots(self):
        for qps in self.qps:
            self.throughput(qps)
        self.heat_map()
        self.latency()
        return self.drawn

    def best(self):
        """For each size: the fastest point, and what batch 1 gets there."""
        rows = []
        for size in self.sizes:
            there = [r for r in self.rows if r["size_bytes"] == size]
            top = max(there, key=lambda r: r["messages_per_s"])
            alone = self.get("messages_per_s", size, self.batches[0],
                             top["qps"])
            gain = f"{top['messages_per_s'] / alone:.2f}" if alone else "-"
            rows.append([size_name(size), top["batch"], top["qps"],
                         scaled(top["messages_per_s"]),
                         scaled(top["bytes_per_s"], "B/s"),
                         plain(top["p50_us"]), plain(top["p99_us"]),
                         plain(top["doorbells_per_op"]), gain])
        return table(["size", "batch", "QPs", "messages/s", "throughput",
                      "p50, us", "p99, us", "doorbells/op",
                      f"x batch {self.batches[0]}"], rows)


def groups(directory, rows, note):
    """A Sweep for each direction and depth, in the order of the plan."""
    found = {}
    for row in rows:
        if row["state"] == "measured":
            found.setdefault((row["rw"], row["depth"]), []).append(row)
    return [Sweep(directory, there, note) for there in found.values()]


def versions(points):
    for path in sorted(points.glob("*.stats")):
        if not path.stat().st_size:
            continue
        stats = read_json(path)
        return [("engine", stats.get("engine_version", "unknown")),
                ("libwrb", stats.get("libwrb_version", "unknown")),
                ("device of the job", stats["device"]),
                ("peer", stats["peer"])]
    return []


def disturbed(rows, config):
    """The points whose job spins and yet was without a processor for long."""
    if any(name.startswith(SLEEPING) and value != "busy"
           for name, value in config):
        return []
    return [row for row in rows if row["state"] == "measured"
            and row["cpu_percent"] < LEAST_CPU_PERCENT]


def tell_disturbed(rows):
    return ["## Disturbed points\n",
            f"The job spins, and yet had less than {LEAST_CPU_PERCENT} % of a "
            "processor's time: something else ran, and the figures are too "
            "low. To measure these again remove points/FILE.json and give "
            "sweep.sh the same options with this directory as --out.\n",
            table(["FILE", "processor, %", "messages/s"],
                  [[point_name(row), row["cpu_percent"],
                    scaled(row["messages_per_s"])] for row in rows])]


def facts(title, pairs):
    return f"## {title}\n\n" + table(["", ""], [(n.strip(), v.strip())
                                               for n, v in pairs])


def report(directory, rows, sweeps, config, host):
    """The text of report.md."""
    nr = {s: sum(r["state"] == s for r in rows)
          for s in ("measured", "failed", "missing")}
    began = (directory / "began").read_text().strip()
    text = ["# Sweep of rdma_batch\n",
            f"Begun {began}. {len(rows)} points: {nr['measured']} measured, "
            f"{nr['failed']} failed, {nr['missing']} missing.\n"]
    poor = disturbed(rows, config)
    if poor:
        text.append(f"**{len(poor)} of the measured points were disturbed**, "
                    "see [below](#disturbed-points).\n")
    text += [line + "\n" for line in caveats(host, dict(config)["transport"])]
    for sweep in sweeps:
        text.append(f"## {sweep.rw}, depth {sweep.depth}\n")
        text.append("The fastest point of each size:\n")
        text.append(sweep.best())
        text += [f"![{title}](plots/{name}.png)\n"
                 for name, title in sweep.plots()]
        if not sweep.drawn:
            text.append("No plots: gnuplot is not installed, or failed.\n")
    text += tell_disturbed(poor) if poor else []
    failed = [r for r in rows if r["state"] == "failed"]
    if failed:
        text.append("## Failed points\n")
        text.append(table(["rw", "size", "batch", "QPs", "depth", "why"],
                          [[r["rw"], size_name(r["size_bytes"]), r["batch"],
                            r["qps"], r["depth"], r["error"]]
                           for r in failed]))
    text.append("## How to read it\n\n"
                "A message is one I/O of fio. Latency is fio's clat: from the "
                "doorbell of an I/O's batch to the moment fio takes its "
                "completion; waiting for the batch to fill is before it. "
                "Mixed directions add up, and of their latencies the worse is "
                "shown. doorbells/op is the engine's count over the whole "
                "job; where it is above 1/batch, completions made room for "
                "less than a batch and fio committed that, or a batch spread "
                "over several QPs. Every figure is of one run; all of them are in "
                "[results.csv](results.csv).\n")
    text.append(facts("Machine", host + versions(directory / "points")))
    text.append(facts("Options", config))
    return "\n".join(text)


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "plan").exists():
        sys.exit("usage: report.py DIR, a directory that sweep.sh made")
    directory = pathlib.Path(sys.argv[1])
    rows = [read_point(directory / "points", line.split())
            for line in (directory / "plan").read_text().splitlines()]
    write_csv(directory / "results.csv", rows)
    config = read_pairs(directory / "config", "=")
    host = read_pairs(directory / "host", ": ")
    note = mark(host, dict(config)["transport"])
    poor = len(disturbed(rows, config))
    if poor:
        note += f"{', ' if note else ''}{poor} points disturbed"
    text = report(directory, rows, groups(directory, rows, note), config, host)
    (directory / "report.md").write_text(text, encoding="utf-8")
    print(f"report.py: {directory / 'report.md'}")


if __name__ == "__main__":
    main()
