# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of demo and bench, as SVG and PNG."""
import math
import statistics

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"kernel": "#8a8f98", "fib-lookup": "#b8bcc4", "bare": "#9fc5a8", "lpm": "#74b3d8",
           "fast": "#1f6fb2", "sluice": "#1f6fb2", "wire": "#e3e5e8",
           "n1": "#1f6fb2", "n2": "#d9822b", "n3": "#3d9a6a"}


def bars(axes, series, title, unit):
    """A bar for each name, as high as the median, which stands above it; a dot for each value."""
    names = list(series)
    heights = [statistics.median(series[name]) for name in names]
    axes.bar(range(len(names)), heights, color=[COLOURS.get(n, "#74b3d8") for n in names], width=0.62)
    for x, name in enumerate(names):
        values = series[name]
        if len(values) > 1:
            axes.plot([x] * len(values), values, ".", color="#222222", markersize=4)
        digits = 0 if heights[x] >= 100 else 2
        axes.annotate(f"{heights[x]:,.{digits}f}", (x, max(values)), xytext=(0, 5), textcoords="offset points",
                      ha="center", fontsize=10)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(0, 1.15 * max([v for values in series.values() for v in values] + [0.01]))
    finish(axes, title, "", unit)


def curve(axes, xs, ys, title, x_unit, y_unit):
    axes.plot(xs, ys, color=COLOURS["fast"], linewidth=2)
    axes.fill_between(xs, ys, color=COLOURS["fast"], alpha=0.12)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    finish(axes, title, x_unit, y_unit)


def lines(axes, series, title, x_unit, y_unit):
    """One line per name: {name: (xs, ys)}, with a legend."""
    for i, (name, (xs, ys)) in enumerate(series.items()):
        axes.plot(xs, ys, color=COLOURS.get(name, ("#1f6fb2", "#d9822b", "#8a8f98")[i % 3]), linewidth=1.8, label=name)
    axes.legend(frameon=False, fontsize=9)
    axes.set_ylim(bottom=0)
    finish(axes, title, x_unit, y_unit)


def heat(axes, rows, columns, values, title):
    """A table of counts: the larger, the darker, on a logarithmic scale."""
    shades = [[math.log10(v + 1) for v in row] for row in values]
    axes.imshow(shades, cmap="Blues", aspect="auto", vmin=0, vmax=1.6 * max(max(row) for row in shades) + 0.1)
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            axes.annotate(short(value), (x, y), ha="center", va="center", fontsize=10)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title, fontsize=11, loc="left", fontweight="bold")


def short(count):
    """1234567 as 1.2 M."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:.1f} {letter}" if count < 100 * unit else f"{count / unit:.0f} {letter}"
    return str(count)


def finish(axes, title, x_unit, y_unit):
    axes.set_title(title, fontsize=11, loc="left", fontweight="bold")
    axes.set_xlabel(x_unit)
    axes.set_ylabel(y_unit)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def save(base, draw, panels, width=5, height=3.8):
    """Let draw(*axes) fill that many panels, side by side, each of this size in inches; write
    base.svg and base.png."""
    figure, axes = plt.subplots(1, panels, figsize=(width * panels, height), squeeze=False)
    draw(*axes[0])
    figure.tight_layout()
    for kind in ("svg", "png"):
        figure.savefig(f"{base}.{kind}", dpi=140)
    plt.close(figure)
