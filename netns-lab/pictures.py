# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of demo and bench, as SVG and PNG."""
import statistics

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"kernel": "#8a8f98", "fib-lookup": "#b8bcc4", "bare": "#9fc5a8", "lpm": "#74b3d8",
           "fast": "#1f6fb2", "sluice": "#1f6fb2", "wire": "#e3e5e8"}


def bars(axes, series, title, unit):
    """One bar per name, as high as the median; a dot per value; the median written above."""
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


def finish(axes, title, x_unit, y_unit):
    axes.set_title(title, fontsize=11, loc="left", fontweight="bold")
    axes.set_xlabel(x_unit)
    axes.set_ylabel(y_unit)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def save(base, draw, panels):
    """draw(*axes) fills that many panels, side by side; written as base.svg and base.png."""
    figure, axes = plt.subplots(1, panels, figsize=(5 * panels, 3.8), squeeze=False)
    draw(*axes[0])
    figure.tight_layout()
    for kind in ("svg", "png"):
        figure.savefig(f"{base}.{kind}", dpi=140)
    plt.close(figure)
