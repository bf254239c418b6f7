# SPDX-License-Identifier: Apache-2.0
"""Prints the hosts by switch and the slowest links, with the standard library only: read_map.py [MAP]

Without MAP it reads $NETTOPO_MAP, or $NETTOPO_JSON if the file is not visible, as in a container.
After a failed sweep it prints the reason and exits with 0."""
import collections
import json
import os
import sys


def read_map(path):
    """The map as a dictionary; None: the job has none."""
    if path and os.access(path, os.R_OK):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    text = os.environ.get("NETTOPO_JSON")
    return json.loads(text) if text else None


def main():
    net = read_map(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("NETTOPO_MAP"))
    if net is None:
        print("no map:", os.environ.get("NETTOPO_REASON", "this is no job with --nettopo"))
        return
    below = collections.defaultdict(list)
    for node in net["nodes"]:
        below[node.get("switch", "no switch")].append(node["name"])
    for switch, hosts in sorted(below.items()):
        print(f"{switch}: {' '.join(hosts)}")
    known = [link for link in net["links"] if link.get("latency_us") is not None]
    for link in sorted(known, key=lambda link: -link["latency_us"])[:3]:
        rate = link.get("bandwidth_MBps")
        print(f"{link['a']} - {link['b']}: {link['latency_us']} us" + (f", {rate} MB/s" if rate else ""))


if __name__ == "__main__":
    main()
