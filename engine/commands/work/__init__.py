"""The commands of the group Work: run, chat, resume, abort."""
