# SPDX-License-Identifier: GPL-2.0-only
"""What report.py and compare.py share: reading, units, tables, gnuplot."""

import json
import pathlib
import shutil
import subprocess

HEAD = """set terminal pngcairo size 800,500 font "DejaVu Sans,11" background "white"
set output {png}
set title {title} noenhanced
set border 3
set tics nomirror out
set grid back linecolor "#dddddd" linetype 1
set key outside right top vertical noenhanced samplen 2 width 1
set lmargin 13
set label 1 {mark} at screen 0.985, screen 0.03 right textcolor rgb '#666666' noenhanced
"""

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
           "#000000", "#999999"]


def quote(text):
    """A string of gnuplot's."""
    return "'" + str(text).replace("'", "''") + "'"


def read_json(path):
    """The first JSON object of a file that may have other lines before it."""
    text = path.read_text(errors="replace")
    return json.JSONDecoder().raw_decode(text[text.index("{"):])[0]


def read_pairs(path, divider):
    """Lines of "name<divider>value", in their order; without a file: none."""
    if not path.exists():
        return []
    lines = path.read_text(errors="replace").splitlines()
    return [tuple(line.split(divider, 1)) for line in lines if divider in line]


def size_name(size):
    """64 B, 4 KiB, 1 MiB."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def scaled(value, unit=""):
    """Three digits and a prefix: 1.23 M."""
    if value is None:
        return "-"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


def table(head, rows):
    """A table of Markdown; its first column to the left, others right."""
    lines = ["| " + " | ".join(head) + " |",
             "|" + "|".join(["---"] + ["--:"] * (len(head) - 1)) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |"
              for row in rows]
    return "\n".join(lines) + "\n"


def blocks(series):
    """Data of gnuplot: [(name, [(x, y...), ...]), ...], a block for each."""
    text = ""
    for name, points in series:
        text += f"# {name}\n"
        for point in points:
            text += " ".join("NaN" if v is None else str(v)
                             for v in point) + "\n"
        text += "\n\n"
    return text


def size_tics(sizes):
    """Tic marks of an axis of sizes, at most some ten of them."""
    step = (len(sizes) + 9) // 10
    return ", ".join(f"{quote(size_name(s))} {s}" for s in sizes[::step])


def draw(directory, name, titles, data, body):
    """Makes NAME.png in directory from data and commands of gnuplot, which
    find the data as DATA; keeps both beside it. False without gnuplot.
    titles: the title, and a mark in the corner."""
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.dat").write_text(data)
    script = HEAD.format(png=quote(f"{name}.png"), title=quote(titles[0]),
                         mark=quote(titles[1])) + body
    script = script.replace("DATA", quote(f"{name}.dat"))
    (directory / f"{name}.gp").write_text(script)
    if not shutil.which("gnuplot"):
        return False
    run = subprocess.run(["gnuplot", f"{name}.gp"], cwd=directory,
                         capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"gnuplot could not draw {name}: {run.stderr.strip()}")
        pathlib.Path(directory / f"{name}.png").unlink(missing_ok=True)
        return False
    return True


def mark(host, transport=None):
    """The shortest form of caveats(), for pictures."""
    host = dict(host)
    words = []
    if transport == "memory":
        words.append("transport in memory, not a NIC")
    elif host.get("device driver") == "software":
        words.append("soft-RoCE, not a NIC")
    if host.get("virtual") == "emulated processor":
        words.append("emulated processor")
    return ", ".join(words)


def caveats(host, transport=None):
    """What the figures are not, in sentences."""
    host = dict(host)
    said = []
    if transport == "memory":
        said.append("**Not a NIC's figures.** The transport is memory: one "
                    "process copies bytes to itself, and what is measured is "
                    "the cost of fio and of the engine on this processor.")
    elif host.get("device driver") == "software":
        said.append("**Not a NIC's figures.** The device is soft-RoCE: the "
                    "kernel does in software what a NIC does.")
    if host.get("virtual") == "emulated processor":
        said.append("**An emulated processor.** Times say nothing about real "
                    "machines; ratios within one run and counts may.")
    elif host.get("virtual") == "virtual machine":
        said.append("Measured in a virtual machine, whose processor others "
                    "may share.")
    return said
