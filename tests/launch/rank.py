#!/usr/bin/python3 -IS
# SPDX-License-Identifier: Apache-2.0
"""One rank that meets all others as torch.distributed does (init_method env://): rank 0 listens on
its host, and every rank, rank 0 too, connects to MASTER_ADDR:MASTER_PORT. Prints "connected RANK
HOST" if all ranks came."""
import os
import socket
import sys
import threading
import time


def first(*names):
    return next(os.environ[name] for name in names if name in os.environ)


DEADLINE = time.monotonic() + 20
RANK = int(first("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"))
WORLD = int(first("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"))


def serve(listener):
    clients, ranks = [], set()
    while len(ranks) < WORLD:
        client, _ = listener.accept()
        clients.append(client)
        ranks.add(int(client.makefile().readline()))
    for client in clients:
        client.sendall(b"all\n")


def main():
    server = None
    if RANK == 0:
        listener = socket.create_server(("", int(os.environ["MASTER_PORT"])), backlog=64)
        server = threading.Thread(target=serve, args=(listener,), daemon=True)
        server.start()
    while True:
        try:
            to_master = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 5)
            break
        except OSError as error:
            if time.monotonic() > DEADLINE:
                sys.exit(f"rank {RANK}: {os.environ['MASTER_ADDR']}: {error}")
            time.sleep(0.05)  # until rank 0 has started
    to_master.settimeout(max(1, DEADLINE - time.monotonic()))
    to_master.sendall(b"%d\n" % RANK)
    if to_master.makefile().readline() != "all\n":
        sys.exit(f"rank {RANK}: not all ranks came")
    if server:
        server.join(20)  # the others have the answer, too
    print("connected", RANK, os.environ.get("SLURMD_NODENAME", socket.gethostname()))


main()
