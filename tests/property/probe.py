"""Runs inside: tries what each line of the input says, and prints one line about each.

"ok [what was seen]" or the name of the error. Removing is tried by renaming away and back.
"""
import errno
import os
import sys


def identity(status):
    """Tells the host's file from one of the session's own in its place."""
    return f"{status.st_dev}:{status.st_ino}"


def attempt(operation, path):
    if operation == b"read":
        if os.path.isdir(path):
            os.listdir(path)
            return identity(os.stat(path))
        with open(path, "rb") as file:
            return file.read().hex()
    if operation == b"write":
        fd = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, b"written inside\n")
        os.close(fd)
    elif operation == b"create":
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    else:
        # From the directory itself: a path that leads through what is renamed has no way back.
        name, parent = os.path.basename(path), os.open(os.path.dirname(path), os.O_PATH)
        try:
            there = identity(os.stat(name, dir_fd=parent, follow_symlinks=False))
            os.rename(name, name + b".away", src_dir_fd=parent, dst_dir_fd=parent)
            os.rename(name + b".away", name, src_dir_fd=parent, dst_dir_fd=parent)
            return there
        finally:
            os.close(parent)
    return ""


for line in sys.stdin.buffer:
    name, coded = line.split()
    try:
        print("ok", attempt(name, bytes.fromhex(coded.decode())))
    except OSError as error:
        print(errno.errorcode.get(error.errno, error.errno))
