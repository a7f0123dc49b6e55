"""What the file tests share: secrets with canaries, and probes that run inside and outside alike."""
import os
import pathlib
import secrets
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

PYTHON = "/usr/bin/python3"

# Functions that probes may use; errors become their names.
PRELUDE = r"""
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def name(error):
    return errno.errorcode.get(error, str(error))
def attempt(what, *arguments):
    try:
        result = what(*arguments)
        return "ok" if result is None or result == 0 else str(result)
    except OSError as error:
        return name(error.errno)
def call(number, *arguments):
    "A raw system call; raises OSError."
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "syscall")
def content(path):
    with open(path, "rb") as file:
        return file.read().decode(errors="replace").strip()
def say(key, answer):
    print(os.fsencode(str(key)).hex(), answer.replace("\n", "|"), flush=True)
"""


class CanaryTest(cordon_testing.CordonTest):
    """A home, a working directory, and files outside them whose content nobody can guess."""

    def make(self, path, text=None, mode=0o644):
        """A file at `path` (from self.base), with a canary; returns the canary."""
        path = os.path.join(os.fsencode(self.base), os.fsencode(path))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        text = text or "canary-" + secrets.token_hex(12)
        with open(path, "w", encoding="ascii") as file:
            file.write(text + "\n")
        os.chmod(path, mode)
        return text

    def at(self, *parts):
        return os.path.join(self.base, *parts)

    def outside(self, *argv, **how):
        how = {"cwd": self.work, "env": self.environment, "stdin": subprocess.DEVNULL,
               "capture_output": True, "text": True, "errors": "surrogateescape",
               "timeout": cordon_testing.SECONDS, **how}
        return subprocess.run(argv, check=False, **how)

    def answers(self, done):
        """{key: answer} of a probe that used say()."""
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        found = {}
        for line in done.stdout.splitlines():
            key, answer = line.split(" ", 1)
            found[os.fsdecode(bytes.fromhex(key))] = answer
        return found

    def probe(self, code, *arguments, options=(), **how):
        """Answers of a Python probe run inside."""
        return self.answers(self.run_cordon(PYTHON, "-ISc", PRELUDE + code, *arguments,
                                            options=options, errors="surrogateescape", **how))

    def control(self, code, *arguments, **how):
        """Answers of the same probe run outside."""
        return self.answers(self.outside(PYTHON, "-ISc", PRELUDE + code, *arguments, **how))

    def read_each(self, paths, options=(), **how):
        """What reading each path says inside."""
        return self.probe("for p in sys.argv[1:]: say(p, attempt(content, p))", *paths, options=options,
                          **how)

    def read_outside(self, paths, **how):
        return self.control("for p in sys.argv[1:]: say(p, attempt(content, p))", *paths, **how)


main = cordon_testing.main
