#!/usr/bin/env python3
# ctest: TIMEOUT 600
"""What git would run outside cannot be planted inside, and work with git goes on (row 26)."""
import os
import shutil
import subprocess

import names

# Each plants something that the next git outside runs: $W is the program to run. The working directory
# is a repository with one commit, whose `sub` is another one.
PLANTS = {
    "hook": 'echo "#!$W" > .git/hooks/post-checkout; printf "#!/bin/sh\\n$W\\n" > .git/hooks/post-checkout; chmod 755 .git/hooks/post-checkout',
    "hook of a repository below": 'mkdir -p sub/.git/hooks; printf "#!/bin/sh\\n$W\\n" > sub/.git/hooks/post-checkout; chmod 755 sub/.git/hooks/post-checkout',
    "link as hook": 'mkdir -p .git/hooks; ln -s "$W" .git/hooks/post-checkout',
    "hooks as link": 'mkdir h; ln -s "$W" h/post-checkout; rm -rf .git/hooks; ln -s ../h .git/hooks',
    "hook moved in": 'printf "#!/bin/sh\\n$W\\n" > h; chmod 755 h; mkdir -p .git/hooks; mv h .git/hooks/post-checkout',
    "hooks moved in": 'mkdir h; ln -s "$W" h/post-checkout; rm -rf .git/hooks; mv h .git/hooks; mv -T h .git/hooks',
    "hooks of a sub moved in": 'mkdir h; ln -s "$W" h/post-checkout; rm -rf sub/.git/hooks; mv -T h sub/.git/hooks',
    "hooks path": 'mkdir h; ln -s "$W" h/post-checkout; git config core.hooksPath "$PWD/h"; git -C sub config core.hooksPath "$PWD/h"',
    "hooks path by hand": 'mkdir h; ln -s "$W" h/post-checkout; printf "[core]\\n\\thooksPath = $PWD/h\\n" >> .git/config; '
                          'printf "[core]\\n\\thooksPath = $PWD/h\\n" >> sub/.git/config',
    "monitor": 'git config core.fsmonitor "$W"; git -C sub config core.fsmonitor "$W"',
    "monitor by lock": 'cp .git/config .git/config.lock; printf "[core]\\n\\tfsmonitor = $W\\n" >> .git/config.lock; mv .git/config.lock .git/config',
    "monitor by a file of any name": 'cp .git/config c; printf "[core]\\n\\tfsmonitor = $W\\n" >> c; mv c .git/config; cp c .git/c; mv .git/c .git/config',
    "monitor by exchange": 'cp .git/config c; printf "[core]\\n\\tfsmonitor = $W\\n" >> c; python3 -c "import ctypes; '
                           'ctypes.CDLL(None).syscall(316, -100, b\'c\', -100, b\'.git/config\', 2)"',
    "include": 'printf "[core]\\n\\tfsmonitor = $W\\n" > inc; git config include.path ../inc; git -C sub config include.path ../../inc',
    "conditional include": 'printf "[core]\\n\\tfsmonitor = $W\\n" > inc; git config includeIf.gitdir:/.path "$PWD/inc"; '
                           'printf "[includeIf \\"gitdir:/**\\"]\\n\\tpath = $PWD/inc\\n" >> .git/config',
    "ssh command": 'git config core.sshCommand "$W"; git remote add o ssh://nowhere.invalid/x; git config remote.o.uploadpack "$W"',
    "proxy": 'git config core.gitProxy "$W"; git remote add p git://nowhere.invalid/x',
    "remote helper": 'git remote add e "ext::$W"; git config remote.e.url "ext::$W"; git config protocol.ext.allow always',
    "alias": 'git config alias.st "!$W"; git config alias.co "!$W"',
    "editor and pager": 'git config core.editor "$W"; git config core.pager "$W"; git config pager.log "$W"; git config sequence.editor "$W"',
    "credential helper": 'git config credential.helper "!$W"',
    "filter": 'git config filter.x.clean "$W"; git config filter.x.smudge "$W"; echo "* filter=x" > .gitattributes; echo changed >> file; touch file',
    "filter by info": 'mkdir -p .git/info; echo "* filter=x" > .git/info/attributes; git config filter.x.clean "$W"; echo changed >> file',
    "diff driver": 'echo "* diff=x" > .gitattributes; git config diff.x.textconv "$W"; git config diff.external "$W"; echo changed >> file',
    "merge driver": 'git config merge.x.driver "$W"; echo "* merge=x" > .gitattributes',
    "signing program": 'git config commit.gpgSign true; git config gpg.program "$W"',
    "worktree config": 'git config extensions.worktreeConfig true; printf "[core]\\n\\tfsmonitor = $W\\n" > .git/config.worktree',
    "common directory": 'mkdir -p c/objects c/refs; cp -r .git/objects .git/refs .git/HEAD c/; printf "[core]\\n\\trepositoryformatversion = 0\\n\\t'
                        'fsmonitor = $W\\n" > c/config; echo ../c > .git/commondir',
    "git directory moved": 'mv .git g; cp -r g .git; printf "[core]\\n\\tfsmonitor = $W\\n" >> .git/config; mv g x',
    "git directory removed": 'cp -r .git g; printf "[core]\\n\\tfsmonitor = $W\\n" >> g/config; rm -rf .git; mv -T g .git; cp -rT g .git',
    "sub moved": 'cp -r sub s2; printf "[core]\\n\\tfsmonitor = $W\\n" >> s2/.git/config; mv sub s3; mv s2 sub',
    "sub replaced": 'rm -rf sub; mkdir -p sub; git -C sub init -q; printf "[core]\\n\\tfsmonitor = $W\\n" >> sub/.git/config; cd sub; echo x > f; git add f; git commit -qm x',
    "sub is a link": 'cp -r sub /tmp/s2 2>/dev/null; mv sub s3; mkdir s4; mkdir s4/g; cp -rT s3/.git s4/g; printf "[core]\\n\\tfsmonitor = $W\\n" >> s4/g/config; '
                     'ln -s g s4/.git; ln -s s4 sub',
    "file that points": 'mv sub s3; mkdir sub g; cp -rT s3/.git g; printf "[core]\\n\\tfsmonitor = $W\\n" >> g/config; echo "gitdir: ../g" > sub/.git',
    "file that points, then the directory": 'rm -rf sub; mkdir sub; echo "gitdir: ../g" > sub/.git; git init -q --bare g; git -C g config core.bare false; '
                                            'git --git-dir g config core.fsmonitor "$W"; printf "[core]\\n\\tfsmonitor = $W\\n" >> g/config',
    "file that points to a common directory": 'rm -rf sub; mkdir -p sub g c/objects c/refs; echo ref: refs/heads/x > g/HEAD; echo ../c > g/commondir; '
                                              'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = $W\\n" > c/config; echo "gitdir: ../g" > sub/.git',
    "separate directory": 'rm -rf sub; git init -q --separate-git-dir=g sub; printf "[core]\\n\\tfsmonitor = $W\\n" >> g/config; mkdir -p g/hooks; '
                          'ln -s "$W" g/hooks/post-checkout',
    "bare in the tree": 'rm -rf sub; mkdir -p sub/objects sub/refs; echo ref: refs/heads/x > sub/HEAD; '
                        'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = $PWD\\n\\tfsmonitor = $W\\n" > sub/config',
    "bare at the top": 'rm -rf .git; mkdir -p objects refs; echo ref: refs/heads/x > HEAD; '
                       'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = $PWD\\n\\tfsmonitor = $W\\n" > config',
    "bare made beside and moved": 'rm -rf sub; git init -q --bare b; printf "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\t'
                                  'worktree = $PWD\\n\\tfsmonitor = $W\\n" > c; mv c b/config; mv b sub',
    "bare in parts": 'rm -rf sub; mkdir -p sub q/objects q/refs; printf "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = '
                     '$PWD\\n\\tfsmonitor = $W\\n" > q/config; echo ref: refs/heads/x > q/H; mv q/objects q/refs q/config sub; mv q/H sub/HEAD',
    "clone with templates": 'mkdir -p t/hooks; ln -s "$W" t/hooks/post-checkout; rm -rf sub; git clone -q --template=t . sub; git init -q --template=t new; '
                            'git -C sub config core.fsmonitor "$W"',
    "attributes as link": 'rm -rf .git/info; mkdir i; echo "* filter=x" > i/attributes; ln -s ../i .git/info; git config filter.x.clean "$W"; echo changed >> file',
    "configuration removed first": 'rm -f .git/config; printf "[core]\\n\\tfsmonitor = $W\\n" > .git/config.lock; mv .git/config.lock .git/config; git config core.fsmonitor "$W"',
    "configuration as link": 'rm -f .git/config; printf "[core]\\n\\tfsmonitor = $W\\n" > c; ln -s ../c .git/config; ln -s ../c .git/l; mv .git/l .git/config',
    "configuration linked": 'rm -f .git/config; printf "[core]\\n\\tfsmonitor = $W\\n" > c; ln c .git/config; ln c .git/config.lock; mv .git/config.lock .git/config',
    "configuration written after the move": 'cp .git/config .git/config.lock; exec 3<> .git/config.lock; mv .git/config.lock .git/config; cat .git/config > t; '
                                            'printf "[core]\\n\\tfsmonitor = $W\\n" >> t; cat t >&3',
    "submodule": 'mkdir -p .git/modules/m/objects .git/modules/m/refs; echo ref: refs/heads/x > .git/modules/m/HEAD; printf "[core]\\n\\t'
                 'repositoryformatversion = 0\\n\\tworktree = ../../../m\\n\\tfsmonitor = $W\\n" > .git/modules/m/config; mkdir m; '
                 'echo "gitdir: ../.git/modules/m" > m/.git; rm -rf sub; cp -r m sub',
    "user configuration": 'printf "[core]\\n\\tfsmonitor = $W\\n" >> "$HOME/.gitconfig"; mkdir -p "$HOME/.config/git"; '
                          'printf "[core]\\n\\tfsmonitor = $W\\n" >> "$HOME/.config/git/config"',
    "trace by alternates": 'echo "$PWD/x" > .git/objects/info/alternates; mkdir -p .git/info; echo x > .git/info/grafts',
    "rename over, then back": 'mv .git/hooks h; mkdir -p h; ln -s "$W" h/post-checkout; mv h .git/hooks',
    "by a worktree": 'git worktree add -q wt; printf "[core]\\n\\tfsmonitor = $W\\n" > .git/worktrees/wt/config.worktree; git -C wt config core.fsmonitor "$W"; '
                     'mkdir -p .git/worktrees/wt/hooks; ln -s "$W" .git/worktrees/wt/hooks/post-checkout; rm -rf sub; cp -r wt sub',
    "by a false worktree": 'git worktree add -q wt; mkdir -p c/objects c/refs; printf "[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = $W\\n" > c/config; '
                           'echo "$PWD/c" > .git/worktrees/wt/commondir; rm -rf sub; cp -r wt sub',
}
# What the user does next outside; each may fail, none may run what was planted.
USE = r"""
for d in sub wt m new s4 g b s2 s3 .; do
  [ -d "$d" ] || continue
  cd "$d"
  for words in status "diff" "log --oneline" "checkout -q -b next" "commit -q --allow-empty -m next" "add -A" "st" "co" "remote -v" "fetch --all" "fetch o" \
      "fetch p" "fetch e" "stash" "rebase -i HEAD" "merge next" "describe --always" "config -l" "tag -a -m x x"; do
    timeout 5 git $words
  done
  cd "$TOP"
done </dev/null >/dev/null 2>&1
"""


class Planted(names.NameTest):
    """The witness is touched by whatever git runs outside afterwards."""

    def setUp(self):
        super().setUp()
        self.witness = self.at("witness")
        os.mkdir(self.witness)
        os.chmod(self.witness, 0o777)
        program = self.at("program")
        with open(program, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\necho ran >> "{self.witness}/ran"\ncat\nexit 0\n')
        os.chmod(program, 0o755)
        self.environment.update({"W": program, "GIT_TERMINAL_PROMPT": "0", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                                 "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"})
        self.pristine = self.at("pristine")
        for place in (self.pristine, os.path.join(self.pristine, "sub")):
            self.outside("git", "init", "-q", "-b", "main", place, cwd=self.base)
            with open(os.path.join(place, "file"), "w", encoding="ascii") as file:
                file.write("text\n")
            self.assertEqual(self.outside("git", "-C", place, "add", "file").returncode, 0)
            self.assertEqual(self.outside("git", "-C", place, "commit", "-qm", "one").returncode, 0)

    def fresh(self):
        names.cordon_testing.remove_tree(self.work)
        names.cordon_testing.remove_tree(self.home)
        names.cordon_testing.remove_tree(self.witness)
        os.mkdir(self.witness)
        os.mkdir(self.home)
        shutil.copytree(self.pristine, self.work, symlinks=True)

    def ran(self):
        return os.path.exists(os.path.join(self.witness, "ran"))

    def use(self):
        self.outside("sh", "-c", USE, env={**self.environment, "TOP": self.work}, timeout=300)

    def control(self, line):  # pylint: disable=arguments-differ
        self.fresh()
        self.outside("sh", "-c", line)
        if self.ran():  # while it was planted
            os.unlink(os.path.join(self.witness, "ran"))
        self.use()
        return self.ran()

    # Git runs these only on occasions that have no place here; kept as attacks.
    NO_CONTROL = {"trace by alternates", "merge driver", "credential helper"}

    def plants(self, part):
        for name, line in list(PLANTS.items())[part::4]:
            with self.subTest(plant=name):
                if name not in self.NO_CONTROL:
                    self.assertTrue(self.control(line), "outside too git runs nothing")
                self.fresh()
                # Git's own variables are cleaned away inside, so that names of a person are given again.
                keep = [word for variable in ("W", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
                        for word in ("--env", variable)]
                done = self.inside("sh", "-c", line, options=["--write", self.home, *keep])
                self.assertNotEqual(done.returncode, 125, done.stderr)
                if self.ran():  # inside it may run what it likes; the witness is not in its reach
                    self.fail("the session wrote to the witness")
                self.use()
                self.assertFalse(self.ran(), done.stderr)


for number in range(4):
    setattr(Planted, f"test_plants_{number + 1}_of_4", lambda self, part=number: self.plants(part))


class Work(names.NameTest):
    """What has to work: 12.14, 12.16."""

    def git(self, line, options=None, top=None):
        return self.inside("sh", "-ec", line, options=["--env", "GIT_AUTHOR_NAME=a", "--env", "GIT_AUTHOR_EMAIL=a@b", "--env", "GIT_COMMITTER_NAME=a", "--env",
                                                       "GIT_COMMITTER_EMAIL=a@b", *(self.name_rules() if options is None else options)], cwd=top or self.work)

    def repository(self, place):
        subprocess.run(["git", "init", "-q", "-b", "main", place], check=True, env=self.environment)
        with open(os.path.join(place, "file"), "w", encoding="ascii") as file:
            file.write("text\n")
        for words in (["add", "file"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]):
            subprocess.run(["git", "-C", place, *words], check=True, env=self.environment)

    def test_in_a_repository_that_existed(self):
        self.repository(self.work)
        self.outside("git", "clone", "-q", "--bare", ".", self.at("origin.git"))
        self.outside("git", "remote", "add", "origin", self.at("origin.git"))
        self.outside("git", "fetch", "-q", "origin")
        done = self.git("git checkout -qb topic; echo x >> file; git commit -qam two; git checkout -q main; git merge -q topic; git rebase -q topic; "
                        "git stash list; git tag t; git gc -q; git checkout -q --track -b third origin/main; git branch --set-upstream-to=topic main; "
                        "git config branch.third.remote; git worktree add -q ../work/wt; git -C wt commit -q --allow-empty -m wt; git worktree remove wt; git status",
                        options=[*self.name_rules(), "--write", self.at("origin.git")])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outside("git", "config", "branch.third.remote").stdout, "origin\n")
        self.assertEqual(self.outside("git", "fsck").returncode, 0)

    def test_repositories_made_inside(self):
        self.repository(self.at("source"))
        done = self.git(f"git init -q new; cd new; echo x > f; git add f; git commit -qm one; git remote add origin {self.at('source')}; git fetch -q origin; "
                        f"git config user.name somebody; cd ..; git clone -q {self.at('source')} cloned; cd cloned; git checkout -qb t; git commit -q --allow-empty -m t; "
                        f"cd ..; git -c protocol.file.allow=always clone -q --recurse-submodules {self.at('source')} again; echo all")
        self.assertEqual((done.returncode, done.stdout.split()[-1:]), (0, ["all"]), done.stderr)
        self.assertEqual(self.outside("git", "-C", "new", "config", "user.name").stdout, "somebody\n")
        self.assertEqual(self.found("*.sample"), [])

    def test_dangerous_key_is_named(self):
        self.repository(self.work)
        before = names.cordon_testing.read_file(self.path(".git/config"))
        for key in ("core.fsmonitor", "core.hooksPath", "core.sshCommand", "alias.x", "filter.x.clean", "include.path"):
            done = self.inside("git", "config", key, "/bin/false", options=[])
            self.assertNotEqual(done.returncode, 0)
            found = self.assert_reported(self.path(".git/config"))
            self.assertTrue(any(key.lower() in violation["reason"].lower() for violation in found), (key, found))
            self.assertEqual(names.cordon_testing.read_file(self.path(".git/config")), before)
            self.assertEqual(self.found("config.lock"), [])

    def test_linked_worktree(self):
        main = self.at("main")
        self.repository(main)
        subprocess.run(["git", "-C", main, "worktree", "add", "-q", self.path("tree")], check=True, capture_output=True, env=self.environment)
        done = self.git("echo x >> file; git commit -qam two; git checkout -qb other; git branch -m other2; git rebase -q main; git stash list; git fetch -q . main; git status",
                        top=self.path("tree"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in ("echo x > {0}/.git/hooks/post-commit", "echo x >> {0}/.git/config", "git config core.fsmonitor x", "echo x > {0}/.git/config.worktree",
                     "echo x > {0}/.git/worktrees/tree/config.worktree", "mkdir -p {0}/.git/worktrees/tree/hooks", "echo x > {0}/.git/worktrees/tree/commondir",
                     "echo x > {0}/file", "mkdir -p {0}/.git/info; echo x > {0}/.git/info/attributes", "mv {0}/.git/worktrees {0}/.git/w"):
            before = {name: what for name, what in names.cordon_testing.snapshot(main).items() if "hooks" in name or "config" in name or name == "file" or
                      "commondir" in name or "attributes" in name}
            done = self.git(line.format(main), top=self.path("tree"), options=[])
            self.assertNotEqual(done.returncode, 0, line)
            self.assertEqual({name: what for name, what in names.cordon_testing.snapshot(main).items() if "hooks" in name or "config" in name or name == "file" or
                              "commondir" in name or "attributes" in name}, before, line)


class KnownLimitation(names.NameTest):
    """What is not held, and why; each test shows that it is so today."""

    def test_files_of_a_repository_below_can_be_removed(self):
        # Nothing is mounted there, and unlink is not trapped, so that rm -r costs nothing. Made anew they cannot be.
        repo = self.path("deps/lib")
        subprocess.run(["git", "init", "-q", repo], check=True, env=self.environment)
        self.make("work/deps/lib/.git/hooks/pre-commit")
        self.inside("sh", "-c", "rm deps/lib/.git/hooks/pre-commit deps/lib/.git/config; echo x > deps/lib/.git/hooks/pre-commit; echo x > deps/lib/.git/config",
                    options=[])
        self.assertEqual([name for name in ("hooks/pre-commit", "config") if os.path.exists(os.path.join(repo, ".git", name))], [])


if __name__ == "__main__":
    names.main()
