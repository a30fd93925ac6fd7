"""Results as a Markdown table, as JSON and as a chart."""

import json
import os
from html import escape

BASE = "redis-server"
COLOURS = ["#2f6f4f", "#b0483a", "#3a68b0", "#a07c2c", "#7a4fa0", "#888888", "#4aa3a3"]


def number(value, form):
    return "-" if value is None else form % value


def table(results, shards):
    lines = [
        "### %s" % ("One shard, server and generator pinned" if shards == "one" else "All shards, unpinned"),
        "",
        "| work | server | CPU us/op | ratio | ops/s | p50 ms | p99 ms | p99.9 ms |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for result in results:
        base = result["peers"].get(BASE)
        for name, got in result["peers"].items():
            ratio = got["cpu_us"] / base["cpu_us"] if base else None
            lines.append(
                "| %s | %s | %.3f | %s | %.0f | %s | %s | %s |"
                % (
                    result["work"],
                    name,
                    got["cpu_us"],
                    number(ratio, "%.2f"),
                    got["ops_s"],
                    number(got["p50"], "%.3f"),
                    number(got["p99"], "%.3f"),
                    number(got["p99.9"], "%.3f"),
                )
            )
    return "\n".join(lines) + "\n"


def chart(results, shards):
    """Bars of CPU us/op, a group for each work; each group has a scale of its own."""
    names = list(results[0]["peers"]) if results else []
    bar, gap, left, width = 14, 26, 330, 420
    group = bar * len(names) + gap
    height = 60 + group * len(results)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
        'font-family="sans-serif" font-size="12">' % (left + width + 120, height),
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="20" font-size="14">Server CPU microseconds per operation (%s), '
        "less is better</text>" % ("one shard" if shards == "one" else "all shards"),
    ]
    for row, result in enumerate(results):
        top = 45 + row * group
        most = max(got["cpu_us"] for got in result["peers"].values()) or 1
        parts.append('<text x="10" y="%d">%s</text>' % (top + 11, escape(result["work"])))
        for index, name in enumerate(names):
            got = result["peers"][name]
            y = top + index * bar
            length = width * got["cpu_us"] / most
            colour = COLOURS[index % len(COLOURS)]
            parts.append(
                '<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>'
                % (left, y, length, bar - 3, colour)
            )
            parts.append(
                '<text x="%.1f" y="%d" font-size="10">%s %.3f</text>'
                % (left + length + 5, y + bar - 5, escape(name), got["cpu_us"])
            )
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def write_text(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def write_json(folder, results):
    write_text(folder, "results.json", json.dumps(results, indent=2) + "\n")
