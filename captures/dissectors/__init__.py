"""For people with a capture in hand: Scapy classes and a Wireshark dissector, both derived from the wire table."""
