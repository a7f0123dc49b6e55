#!/usr/bin/env python3
"""A rule that hides one file had no effect when its folder was opened again by another rule."""
import itertools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position


class DenyInsideAllow(cordon_testing.CordonTest):
    def setUp(self):
        super().setUp()
        self.write("token.txt", "hush\n")
        self.write("readme", "hello\n")
        self.write("deep/er/token.txt", "hush\n")
        self.write("deep/er/readme", "hello\n")

    def check(self, options):
        said = self.run_cordon("sh", "-c", "cat readme deep/er/readme; cat token.txt deep/er/token.txt; true", options=options).stdout
        self.assertEqual(said, "hello\nhello\n", options)

    def test_in_whatever_order_the_rules_come(self):
        rules = (("--deny-read", self.base), ("--allow-read", self.work), ("--deny-read", self.path("token.txt")),
                 ("--deny-read", self.path("deep/er/token.txt")))
        for order in itertools.permutations(rules):
            self.check(list(itertools.chain(*order)))

    def test_whatever_opens_the_folder(self):
        for opening in (["--allow-read", self.work], ["--write", self.work], ["--mount", self.work], ["--mount", self.work + "::ro"],
                        ["--allow-read", "deep", "--allow-read", "readme"], ["--write", "."], ["--allow-read", "**"]):
            for hidden in (["token.txt", "deep/er/token.txt"], ["**/token.txt"], ["token.*", "deep/*/tok*"]):
                options = ["--deny-read", self.base, *opening]
                for rule in hidden:
                    options += ["--deny-read", rule]
                if opening[1].endswith("::ro"):
                    options[options.index(opening[1])] = self.work + ":ro"
                self.check(options)

    def test_same_path_hidden_and_opened(self):
        for options in (["--allow-read", "token.txt"], ["--write", "token.txt"]):
            done = self.run_cordon("cat", "token.txt", options=["--deny-read", "token.txt", *options])
            self.assertNotIn("hush", done.stdout)

    def test_description_says_the_same(self):
        spec = os.path.join(self.base, "spec.json")
        with open(spec, "w", encoding="ascii") as file:
            file.write('{"sessionId": "a", "workspaceId": "b", "view": "host", "guestWorkdir": "%s", "filesystem": '
                       '{"denyRead": ["..", "token.txt", "**/token.txt"], "allowRead": ["."], "allowWrite": ["./"]}}' % self.work)
        self.check(["--spec", spec])


if __name__ == "__main__":
    cordon_testing.main()
