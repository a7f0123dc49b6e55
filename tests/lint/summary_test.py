#!/usr/bin/env python3
"""tests/support/summary.py: what counts as passed, failed and skipped."""
import pathlib
import subprocess
import tempfile
import unittest

SUMMARY = pathlib.Path(__file__).resolve().parents[1] / "support/summary.py"
REPORT = """<testsuite>
<testcase name="glob.A.B" status="run"/>
<testcase name="glob.A.C" status="fail"><failure message=""/></testcase>
<testcase name="e2e.pty_test" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
  <system-out>trying\nneeds a terminal\n</system-out></testcase>
<testcase name="e2e.gone_test" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="e2e.pty_test.as-user" status="run"/>
</testsuite>"""


class Summary(unittest.TestCase):
    def run_summary(self, verb, report=REPORT):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(report)
            file.flush()
            return subprocess.run([SUMMARY, verb, file.name, file.name], text=True, check=True,
                                  capture_output=True).stdout

    def test_counts_add_up_over_reports(self):
        self.assertEqual(self.run_summary("counts"), "4 passed, 4 failed, 2 skipped\n")

    def test_table_names_groups_and_reasons(self):
        table = self.run_summary("table")
        self.assertRegex(table, r"(?m)^unit glob +2 +2 +0$")
        self.assertRegex(table, r"(?m)^e2e as cordon-test +2 +0 +0$")
        self.assertRegex(table, r"(?m)^all +4 +4 +2$")
        self.assertIn("needs a terminal\n      e2e.pty_test", table)


if __name__ == "__main__":
    unittest.main()
