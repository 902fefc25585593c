"""Commands of a shell: started, watched, kept in the background, ended."""
