#!/usr/bin/env python3
"""The collected faults of other sandboxes that this version must not have, as they were collected.

The scripts are not part of the repository: they are looked for in $CORDON_CASES and in
../shared/cases beside it. tests/regress/ has the project's own tests of the same kinds of fault.
"""
# ctest: TIMEOUT 600
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

SHIM = cordon_testing.ROOT / "tests/shim/sbx"

# What each is about stands in the folder's README.md. Where a script has a strict reading, the
# strict one is run.
CASES = ("FS01", "FS02", "FS06", "FS07", "FS08", "TY01", "TY03", "PR01", "PR02", "PR04", "RS01",
         "PK01", "CT01", "CR04")


def folder():
    named = os.environ.get("CORDON_CASES")
    return pathlib.Path(named) if named else cordon_testing.ROOT.parent / "shared/cases"


class Cases(cordon_testing.unittest.TestCase):
    """One test for each script."""
    scripts = None

    @classmethod
    def setUpClass(cls):
        # Some run their helpers inside, where a folder below /tmp is not to be seen.
        if folder().is_dir():
            cls.copy = tempfile.mkdtemp(prefix="cordon-cases-", dir=cordon_testing.lasting_folder())
            cls.addClassCleanup(cordon_testing.remove_tree, cls.copy)
            cls.scripts = pathlib.Path(shutil.copytree(folder(), os.path.join(cls.copy, "cases")))


def add(case):
    def test(self):
        script = (self.scripts or folder()) / "repro" / f"{case}.sh"
        if not script.is_file():
            self.skipTest(f"there is no {folder()}/repro/{case}.sh; CORDON_CASES names the folder")
        done = subprocess.run(
            ["bash", str(script)], capture_output=True, text=True, check=False,
            timeout=cordon_testing.SECONDS * 2, stdin=subprocess.DEVNULL,
            env={**os.environ, "SBX": str(SHIM), "CORDON": cordon_testing.CORDON, "STRICT": "1"})
        said = done.stdout.strip().splitlines()[-1:] or [f"nothing printed; {done.stderr[-500:]}"]
        if done.returncode == 77:
            self.skipTest(said[0])
        self.assertEqual((done.returncode, said[0]), (0, f"PASS {case}"), done.stderr[-500:])

    setattr(Cases, f"test_{case.lower()}", test)


for name in CASES:
    add(name)


if __name__ == "__main__":
    cordon_testing.main()
