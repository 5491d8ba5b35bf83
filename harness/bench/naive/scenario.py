"""The naive run: plain Mininet, a tcpdump and a Python for every host."""

import os
import subprocess
import sys
import time

from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo

nodes, count = int(sys.argv[1]), int(sys.argv[2])
here = os.path.dirname(os.path.abspath(__file__))
net = Mininet(topo=SingleSwitchTopo(nodes), switch=LinuxBridge, controller=None, autoSetMacs=True)
net.start()
for link in net.links:
    subprocess.run(["tc", "qdisc", "add", "dev", link.intf2.name, "root", "netem", "delay", "1ms"], check=True)
time.sleep(1)
captures = [
    host.popen(
        [
            "tcpdump",
            "-Z",
            "root",
            "-i",
            f"{host.name}-eth0",
            "-U",
            "--immediate-mode",
            "-w",
            f"{host.name}.pcap",
            "ether",
            "proto",
            "0x88b5",
        ],
        stderr=subprocess.DEVNULL,
    )
    for host in net.hosts
]
time.sleep(1)
running = [host.popen(["/usr/bin/python3", f"{here}/node.py", host.name[1:], str(count), "0.01"]) for host in net.hosts]
for node in running:
    node.wait()
time.sleep(0.5)
for capture in captures:
    capture.terminate()
    capture.wait()
net.stop()
