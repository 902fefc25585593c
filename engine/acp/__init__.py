"""The engine as an agent of the Agent Client Protocol: editors start it as a process and talk JSON-RPC over stdio."""
