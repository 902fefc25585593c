"""What people are shown, at a terminal and in an editor alike."""
