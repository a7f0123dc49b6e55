#!/usr/bin/env python3
"""A path that may not be read stays unread by every other way to it (rows 14, 17, 19, 20)."""
import os

import canary

READERS = r"""
secret, base = sys.argv[1:3]
folder = os.path.dirname(secret)
name_ = os.path.basename(secret)
def by_descriptor(flags):
    fd = os.open(base, os.O_RDONLY)
    try:
        return os.read(os.open(os.path.relpath(secret, base), os.O_RDONLY, dir_fd=fd), 99).decode().strip()
    finally:
        os.close(fd)
def by_path_descriptor():
    fd = os.open(secret, os.O_PATH)
    return content(f"/proc/self/fd/{fd}")
def by_folder_descriptor():
    fd = os.open(folder, os.O_PATH)
    return content(f"/proc/self/fd/{fd}/{name_}")
def by_chdir():
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        return content(name_)
    finally:
        os.fchdir(here)
def by_new_link(target):
    os.symlink(target, "new-link")
    try:
        return content("new-link")
    finally:
        os.unlink("new-link")
def by_new_hard_link(flags):
    os.link(secret, "new-hard-link", follow_symlinks=flags)
    try:
        return content("new-hard-link")
    finally:
        os.unlink("new-hard-link")
def by_rename():
    os.rename(secret, "moved")
    try:
        return content("moved")
    finally:
        os.rename("moved", secret)
def by_copy_range():
    fd = os.open(secret, os.O_RDONLY)
    out = os.open(".", os.O_TMPFILE | os.O_RDWR)
    os.copy_file_range(fd, out, 99)
    return os.pread(out, 99, 0).decode().strip()
def by_handle():
    class Handle(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
    handle, mount = Handle(128), ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(secret), ctypes.byref(handle), ctypes.byref(mount), 0) < 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    there = os.open(base, os.O_RDONLY)
    fd = libc.open_by_handle_at(there, ctypes.byref(handle), os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    return os.read(fd, 99).decode().strip()
up = os.path.relpath(secret)
spellings = {
    "plain": secret, "relative": up, "doubled": secret.replace("/", "//"), "dots": secret.replace("/", "/./"),
    "upwards": folder + "/../" + os.path.basename(folder) + "/" + name_, "from root": "/proc/self/root" + secret,
    "thread root": "/proc/thread-self/root" + secret, "from cwd": "/proc/self/cwd/" + up,
    "old link": "old-link", "old folder link": "old-folder-link/" + name_, "chain": "old-chain",
    "up through a link": "old-folder-link/../" + os.path.basename(folder) + "/" + name_,
}
for key, path in spellings.items():
    say(key, attempt(content, path))
say("descriptor", attempt(by_descriptor, 0))
say("path descriptor", attempt(by_path_descriptor))
say("folder descriptor", attempt(by_folder_descriptor))
say("chdir", attempt(by_chdir))
say("new link", attempt(by_new_link, secret))
say("new relative link", attempt(by_new_link, up))
say("new link through proc", attempt(by_new_link, "/proc/self/root" + secret))
say("hard link", attempt(by_new_hard_link, True))
say("hard link of a link", attempt(by_new_hard_link, False))
say("rename", attempt(by_rename))
say("copy_file_range", attempt(by_copy_range))
say("handle", attempt(by_handle))
for pid in ("1", "self", str(os.getppid())):
    for place in ("root", "cwd"):
        path = f"/proc/{pid}/{place}" + (secret if place == "root" else "/" + up)
        say(f"{pid if pid != str(os.getppid()) else 'parent'} {place}", attempt(content, path))
"""

# What an ordinary file system does not do for everybody outside either.
NOT_IN_CONTROL = {"handle", "1 root", "1 cwd", "parent cwd", "parent root"}


class Hidden(canary.CanaryTest):
    """Row 14: by name, by link, by hard link, through /proc, by descriptor."""

    def links(self, secret):
        os.symlink(secret, self.path("old-link"))
        os.symlink(os.path.dirname(secret), self.path("old-folder-link"))
        os.symlink("old-link", self.path("old-chain"))

    def ways(self, secret, text, rule):
        self.links(secret)
        control = self.control(READERS, secret, self.base)
        for way, answer in control.items():
            if way not in NOT_IN_CONTROL:
                self.assertIn(text, answer, f"{way} outside")
        self.assertGreater(len(control), 25)
        answers = self.probe(READERS, secret, self.base, options=["--deny-read", rule])
        self.assertEqual(set(answers) - NOT_IN_CONTROL, set(control) - NOT_IN_CONTROL)
        for way, answer in answers.items():
            with self.subTest(way=way):
                self.assertNotIn(text, answer)
                self.assertRegex(answer, r"^E[A-Z]+$")
        self.assertEqual(answers["plain"], "EACCES")
        with open(secret, encoding="ascii") as file:
            self.assertEqual(file.read().strip(), text)

    def test_folder_outside_the_working_directory(self):
        text = self.make("secret/key")
        self.ways(self.at("secret/key"), text, self.at("secret"))

    def test_file_outside_the_working_directory(self):
        text = self.make("secret/key")
        self.ways(self.at("secret/key"), text, self.at("secret/key"))

    def test_file_in_the_working_directory(self):
        text = self.make("work/conf/key")
        self.ways(self.path("conf/key"), text, "conf/key")

    def test_folder_in_the_working_directory(self):
        text = self.make("work/conf/key")
        self.ways(self.path("conf/key"), text, "./conf")

    def test_rule_that_names_a_link(self):
        # The rule means what the link points to, too.
        text = self.make("secret/key")
        os.symlink(self.at("secret"), self.at("name"))
        self.ways(self.at("secret/key"), text, self.at("name/key"))

    def test_rule_in_every_spelling(self):
        text = self.make("secret/key")
        os.mkdir(self.at("x"))
        for rule in ("secret/", "secret/.", "secret/**", "/secret", "./secret", "x/../secret", "secret//key",
                     "secret/key/", "s[e]cret", "secre?", "**/key", "{secret,other}", "*/key", "secret/k*"):
            with self.subTest(rule=rule):
                answers = self.read_each([self.at("secret/key")],
                                         ["--deny-read", self.base + "/" + rule])
                self.assertEqual(answers[self.at("secret/key")], "EACCES", text)

    def test_moving_the_folder_of_a_hidden_file_does_not_show_it(self):
        text = self.make("work/a/b/key")
        line = ('mv a away && cat away/b/key; mkdir -p a/b; cat a/b/key; mv away/b b && cat b/key; '
                'mv b "$HOME" ; cat "$HOME"/b/key; echo done')
        done = self.run_cordon("sh", "-c", line, options=["--deny-read", "a/b/key", "--write", self.home])
        self.assertNotIn(text, done.stdout + done.stderr)
        self.assertTrue(done.stdout.endswith("done\n"), done.stderr)

    def test_nothing_is_told_about_names_in_a_hidden_folder(self):
        self.make("secret/key")
        answers = self.probe("say('list', attempt(lambda: str(os.listdir(sys.argv[1]))))\n"
                             "for n in ('key', 'nothing'): say(n, attempt(os.stat, sys.argv[1] + '/' + n))",
                             self.at("secret"), options=["--deny-read", self.at("secret")])
        self.assertEqual(answers, {"list": "EACCES", "key": "EACCES", "nothing": "EACCES"})

    def test_default_secrets(self):
        texts = {name: self.make("home/" + name) for name in (
            ".ssh/id_ed25519", ".aws/credentials", ".gnupg/private-keys-v1.d/x.key", ".netrc", ".npmrc",
            ".git-credentials", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml", ".pypirc",
            ".config/gcloud/credentials.db", ".azure/msal_token_cache.json", ".cargo/credentials.toml")}
        paths = [os.path.join(self.home, name) for name in texts]
        self.assertEqual(list(self.read_outside(paths).values()), list(texts.values()))
        for options in ((), ("--write", self.home), ("--allow-read", self.home)):
            for path, answer in self.read_each(paths, options).items():
                # npm does not start when its file cannot be opened, so that one reads as empty.
                self.assertIn(answer, ("EACCES", "ok", ""), f"{path} with {options}")


class Confusion(canary.CanaryTest):
    """Row 17: neighbours with almost the same name, and names that are hard to write."""
    ODD = (b"new\nline", b"tab\tbed", b"bell\x07", b"\x01\x02", b"q'uote", b'dou"ble', b"back\\slash", b"st*r", b"wh?t",
           b"br[a]ck", b"{a,b}", b"-dash", b"--deny-read", b"sp ace", b" lead", b"trail ", b"\xff\xfe", b"\xc3\x28", b"$HOME", b"~",
           b"`x`", b"%s%n", b"colon:ro", b"#", b"!bang", b"comma,", b"x" * 255, "ümlaut".encode(), b"...", b"..x", b"\\")

    @staticmethod
    def rule_for(path):
        """The pattern that means exactly this path."""
        return b"".join(b"\\" + bytes([c]) if c in b"*?[]{},\\" else bytes([c]) for c in path)

    def test_neighbours_are_not_the_rule(self):
        text = self.make("work/data/key")
        near = {name: self.make(name) for name in
                ("work/data-2/key", "work/dat/key", "work/datax", "work/data.txt", "work/ data/key")}
        answers = self.read_each([self.at(name) for name in near], ["--deny-read", "data"])
        self.assertEqual(sorted(answers.values()), sorted(near.values()))
        self.assertNotIn(text, self.read_each([self.path("data/key")], ["--deny-read", "data"]).values())

    def test_neighbours_of_what_is_writable(self):
        self.make("work/in")
        for name in ("work-evil", "wor", "workx", "work.d"):
            os.mkdir(self.at(name))
        code = ("for f in sys.argv[1:]:\n"
                "  say(f, attempt(lambda: os.close(os.open(f + '/new', os.O_CREAT | os.O_WRONLY))))")
        places = {name: self.at(name) for name in ("work-evil", "wor", "workx", "work.d")}
        places.update({"up": self.work + "/../work-evil", "dots": self.work + "/./../work-evil",
                       "slashes": self.work + "//..//work-evil", "base": self.base})
        self.assertEqual(set(self.probe(code, *places.values()).values()), {"EROFS"})
        self.assertEqual(self.probe(code, self.work, self.work + "/.", self.work + "//")[self.work], "ok")
        self.assertEqual([name for name in os.listdir(self.at("work-evil"))], [])
        self.assertEqual(set(self.control(code, *places.values()).values()), {"ok"})

    def test_odd_names_are_hidden_one_by_one(self):
        folder = os.fsencode(self.path("odd"))
        texts = {name: self.make(os.path.join(folder, name)) for name in self.ODD}
        paths = [os.path.join(folder, name) for name in texts]
        for path, answer in self.read_outside(paths).items():
            self.assertIn(answer, texts.values(), path)
        # Half of them hidden, then the other half.
        for hidden in (set(list(texts)[::2]), set(list(texts)[1::2])):
            options = []
            for name in hidden:
                options += [b"--deny-read", self.rule_for(os.path.join(folder, name))]
            answers = self.read_each(paths, options)
            for name, text in texts.items():
                said = answers[os.fsdecode(os.path.join(folder, name))]
                self.assertEqual(said, "EACCES" if name in hidden else text, name)

    def test_odd_names_are_protected_one_by_one(self):
        folder = os.fsencode(self.path("odd"))
        texts = {name: self.make(os.path.join(folder, name)) for name in self.ODD}
        paths = [os.path.join(folder, name) for name in texts]
        options = []
        for name in texts:
            options += [b"--deny-write", self.rule_for(os.path.join(folder, name))]
        code = ("for p in sys.argv[1:]: say(p, attempt(lambda: os.close(os.open(p, os.O_WRONLY | os.O_TRUNC)))"
                " + ' ' + attempt(os.unlink, p) + ' ' + attempt(os.rename, p, p + '2') + ' ' + attempt(os.chmod, p, 0))")
        for path, answer in self.probe(code, *paths, options=options).items():
            # The longest name has none that is longer by one.
            moved = "ENAMETOOLONG" if len(os.path.basename(os.fsencode(path))) == 255 else "EROFS"
            self.assertEqual(answer, f"EROFS EBUSY {moved} EROFS", path)
        self.assertEqual({name: cordon_read(os.path.join(folder, name)) for name in texts}, texts)
        self.assertEqual(len(self.control(code, *paths)), len(paths))
        self.assertEqual([name for name in texts if os.path.exists(os.path.join(folder, name))], [])

    def test_rule_that_cannot_be_in_a_description(self):
        # JSON is UTF-8; a byte that is none is refused with its place, never read as something else.
        self.make(b"work/\xff\xfe")
        spec = self.at("spec.json")
        with open(spec, "wb") as file:
            file.write(b'{"sessionId": "a", "workspaceId": "b", "filesystem": {"denyRead": ["\xff\xfe"]}}')
        done = self.run_cordon("true", options=["--spec", spec])
        self.assert_refused(done, "spec.json:1:", "UTF-8")


class Nested(canary.CanaryTest):
    """Row 20: deny in allow in deny; masks that must not open what stands around them."""

    def test_the_longest_rule_decides_at_every_depth(self):
        texts = {}
        folder = "tree"
        for depth in range(6):
            folder += f"/{depth}"
            texts[folder + "/file"] = self.make(folder + "/file")
        options = []
        for depth, path in enumerate(texts):
            options += ["--deny-read" if depth % 2 == 0 else "--allow-read", self.at(os.path.dirname(path))]
        answers = self.read_each([self.at(path) for path in texts], options)
        for depth, (path, text) in enumerate(texts.items()):
            # In a hidden folder that has openings other names are not there.
            self.assertEqual(answers[self.at(path)], "ENOENT" if depth % 2 == 0 else text, path)

    def test_an_opening_shows_nothing_else(self):
        secret = self.make("tree/private/key")
        self.make("tree/other")
        text = self.make("tree/open/file")
        options = ["--deny-read", self.at("tree"), "--allow-read", self.at("tree/open")]
        answers = self.read_each([self.at("tree/open/file"), self.at("tree/private/key"), self.at("tree/other"),
                                  self.at("tree/open/../private/key"), self.at("tree/open/../other")], options)
        self.assertEqual(answers.pop(self.at("tree/open/file")), text)
        self.assertNotIn(secret, answers.values())
        self.assertEqual(set(answers.values()), {"ENOENT"})
        listed = self.run_cordon("ls", "-a", self.at("tree"), options=options)
        self.assertNotEqual(listed.returncode, 0)
        self.assertEqual(listed.stdout, "")

    def test_nothing_can_be_made_in_a_mask(self):
        self.make("work/tree/key")
        self.make("work/tree/open/file")
        code = ("t = sys.argv[1]\n"
                "for place in (t, t + '/..' + t[t.rindex('/'):]):\n"
                "  say(place + ' file', attempt(lambda: os.close(os.open(place + '/new', os.O_CREAT | os.O_WRONLY))))\n"
                "  say(place + ' folder', attempt(os.mkdir, place + '/dir'))\n"
                "  say(place + ' link', attempt(os.symlink, '/etc', place + '/link'))\n"
                "  say(place + ' chmod', attempt(os.chmod, place, 0o777))\n"
                "  say(place + ' move', attempt(os.rename, 'other', place + '/other'))\n")
        self.make("work/other")
        before = cordon_snapshot(self.path("tree"))
        for options in (["--deny-read", "tree"], ["--deny-read", "tree", "--allow-read", "tree/open"]):
            for what, answer in self.probe(code, self.path("tree"), options=options).items():
                self.assertIn(answer, ("EACCES", "EROFS", "EXDEV"), what)
            self.assertEqual(cordon_snapshot(self.path("tree")), before)

    def test_a_hidden_link(self):
        text = self.make("elsewhere/key")
        other = self.make("elsewhere/neighbour")
        os.symlink(self.at("elsewhere/key"), self.path("link"))
        answers = self.read_each(["link", self.at("elsewhere/key"), self.at("elsewhere/neighbour")],
                                 ["--deny-read", "link"])
        self.assertEqual(list(answers.values()), ["EACCES", "EACCES", other], text)

    def test_globs_at_any_depth(self):
        hidden = {name: self.make("work/" + name) for name in
                  (".env", "a/.env", "a/b/c/.env", "k.pem", "a/x.pem", "a/.hidden/y.pem", ".d/.env.local")}
        shown = {name: self.make("work/" + name) for name in ("env", "a/env", "a/x.pe", "x.pemm", "a.env")}
        options = ["--deny-read", "**/.env{,.*}", "--deny-read", "**/*.pem"]
        answers = self.read_each([self.path(name) for name in (*hidden, *shown)], options)
        self.assertEqual({name: answers[self.path(name)] for name in hidden}, {name: "EACCES" for name in hidden})
        self.assertEqual({name: answers[self.path(name)] for name in shown}, shown)


class KnownLimitation(canary.CanaryTest):
    """What is not held, and why; each test shows that it is so today, or how large it can be."""

    def test_old_hard_link(self):
        # The rule names a path. Another name of the same file, made before, is another path.
        text = self.make("secret/key")
        os.link(self.at("secret/key"), self.path("old"))
        answers = self.read_each(["old", self.at("secret/key")], ["--deny-read", self.at("secret")])
        self.assertEqual(list(answers.values()), [text, "EACCES"])

    def mid_session(self, options, change, path):
        """What reading `path` says before `change()` on the host, and how long it could be read after it.

        The wait ends when the answer is EACCES. Fails when it does not become that.
        """
        code = ("import time\nsay('before', attempt(content, sys.argv[1]))\n"
                "sys.stdin.read(1)\n"
                "begun = time.monotonic()\nseen = 0\n"
                "while attempt(content, sys.argv[1]) != 'EACCES' and time.monotonic() < begun + 10:\n  seen += 1\n"
                "say('window', f'{time.monotonic() - begun} {seen}')")
        process = self.start_cordon(canary.PYTHON, "-ISc", canary.PRELUDE + code, path, options=options,
                                    stdin=canary.subprocess.PIPE)
        before = self.read_line(process.stdout).split(" ", 1)[1]
        change()
        out, _ = process.communicate(b"x", timeout=canary.cordon_testing.SECONDS)
        window = float(out.decode().split()[1])
        self.assertLess(window, self.BOUND)
        return before

    # Seconds; a few milliseconds on an idle machine.
    BOUND = 2

    def test_window_after_the_host_replaced_a_file(self):
        # The mask lay on the file that was there; it is put back when the change is seen.
        for number in range(5):
            self.make(f"secret{number}/key")
            self.make(f"secret{number}/new")
            before = self.mid_session(
                ["--deny-read", self.at(f"secret{number}/key")],
                lambda at=number: os.rename(self.at(f"secret{at}/new"), self.at(f"secret{at}/key")), self.at(f"secret{number}/key"))
            self.assertEqual(before, "EACCES")

    def test_window_after_a_name_appeared_that_matches(self):
        for name in ("late.pem", "deep/er/late.pem"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            before = self.mid_session(["--deny-read", "**/*.pem"], lambda at=name: self.make("work/" + at), self.path(name))
            self.assertEqual(before, "ENOENT")

    def test_whole_folder_does_not_have_that_limit(self):
        self.make("secret/key")
        self.make("secret/new")
        code = ("say('before', attempt(content, sys.argv[1]))\nsys.stdin.read(1)\n"
                "answers = {attempt(content, sys.argv[1]) for _ in range(1000)}\nsay('after', ' '.join(answers))")
        process = self.start_cordon(canary.PYTHON, "-ISc", canary.PRELUDE + code, self.at("secret/key"),
                                    options=["--deny-read", self.at("secret")], stdin=canary.subprocess.PIPE)
        self.read_line(process.stdout)
        os.rename(self.at("secret/new"), self.at("secret/key"))
        out, _ = process.communicate(b"x", timeout=canary.cordon_testing.SECONDS)
        self.assertTrue(out.decode().strip().endswith(" EACCES"), out)


def cordon_read(path):
    return canary.cordon_testing.read_file(path).decode().strip()


def cordon_snapshot(path):
    return canary.cordon_testing.snapshot(path)


if __name__ == "__main__":
    canary.main()
