# SPDX-License-Identifier: Apache-2.0
"""A command of model_reduce --run that starts no runtime: it asks the one that serve.py keeps.

    ask.py SOCKET FAULT MODEL INPUTS.npz DUMP
"""
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as line:
    line.connect(sys.argv[1])
    line.sendall(("\0".join([sys.argv[2], *map(os.path.abspath, sys.argv[3:6])]) + "\n").encode())
    answer = line.makefile().read()
if answer != "done":
    sys.exit(answer or "the runtime crashed")
