"""Packets: rendered from rows, cut for caches, stored byte for byte."""
