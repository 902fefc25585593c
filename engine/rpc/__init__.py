"""The engine as a server: JSON-RPC 2.0 over WebSocket, for editors, desktops and other programs on the same machine."""
