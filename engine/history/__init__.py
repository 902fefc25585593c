"""What a run did, taken back: undo and rewind."""
