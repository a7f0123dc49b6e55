#!/usr/bin/env python3
# ctest: TIMEOUT 900
"""Everyday work with the standard dispatch rules on: all default name globs, the protected set, secret reads.

The tests of real_work_test.py that use tools run again with these rules; what follows them is the
work that asks more of the supervisor: repositories with remotes, submodules and worktrees, package
managers, servers, databases, agents. Results are looked at from outside.
"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # noqa: E402
from cordon_testing import CordonTest  # noqa: E402

_spec = importlib.util.spec_from_file_location("real_work_test", pathlib.Path(__file__).with_name("real_work_test.py"))
real_work_test = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(real_work_test)
need, IDENTITY, PYTHON = real_work_test.need, real_work_test.IDENTITY, real_work_test.PYTHON

HELP = subprocess.run([cordon_testing.CORDON, "run", "--help"], capture_output=True, text=True, check=False).stdout
SUPERVISED = "--default-deny-names" in HELP


class WithRules(CordonTest):
    """run_cordon and shell with the standard rules."""

    def rules(self):
        return ["--default-deny-names"] if SUPERVISED else []

    def command(self, argv, options=()):
        return super().command(argv, [*self.rules(), *options])

    def outside(self, *argv, cwd=None):
        return subprocess.run(argv, cwd=cwd or self.work, check=True, env=self.environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=cordon_testing.SECONDS).stdout

    def content(self, *parts):
        return pathlib.Path(self.path(*parts)).read_text(encoding="utf-8")


class Tools(WithRules, real_work_test.Tools):
    pass


class Places(WithRules, real_work_test.Places):
    pass


class Rules(WithRules):
    def test_they_are_on(self):
        if not SUPERVISED:
            self.skipTest("this program has no name rules yet")
        for name in (".env", ".env.local", "server.key", "deep/er/cert.pem", "a.p12", "a.pfx"):
            done = self.run_cordon("sh", "-c", f"mkdir -p deep/er; echo x >{name}")
            self.assertNotEqual(done.returncode, 0, name)
            self.assertIn("Read-only file system", done.stderr)
            self.assertFalse(os.path.exists(self.path(name)))
        for name in (".env.example", "node_modules/a/test.key", "target/x.pem", "public_key", "keys"):
            self.shell(f"mkdir -p node_modules/a target; echo x >{name}")
            self.assertEqual(self.content(name), "x\n")


class Git(WithRules):
    def git(self, *words, cwd=None):
        return self.outside("git", *IDENTITY, *words, cwd=cwd)

    def inside(self, script, **how):
        words = " ".join(f"'{word}'" for word in IDENTITY)
        return self.shell(f"git() {{ command git {words} -c protocol.file.allow=always \"$@\"; }}\n{script}", **how)

    def bare(self, name, *branches):
        """A bare repository with a commit on each branch, made outside."""
        seed = os.path.join(self.base, "seed-" + name)
        self.git("init", "-q", "-b", branches[0], seed)
        for branch in branches:
            if branch != branches[0]:
                self.git("checkout", "-q", "-b", branch, branches[0], cwd=seed)
            pathlib.Path(seed, branch + ".txt").write_text(branch + "\n", encoding="ascii")
            self.git("add", ".", cwd=seed)
            self.git("commit", "-q", "-m", branch, cwd=seed)
        self.git("checkout", "-q", branches[0], cwd=seed)  # HEAD of the clone
        self.git("clone", "-q", "--bare", seed, self.path(name))
        return self.path(name)

    def setUp(self):
        super().setUp()
        if not shutil.which("git"):
            self.skipTest("not installed: git")

    def test_init_commit_branch_merge_rebase_stash(self):
        out = self.inside("""
git init -q -b main made; cd made
echo one >one; git add one; git commit -q -m one
git switch -q -c topic; echo two >two; git add two; git commit -q -m two
git switch -q main; echo more >>one; git stash -q; git stash pop -q; git commit -q -am more
git rebase -q main topic
git switch -q main; git merge -q --no-ff -m merged topic
git branch -d -q topic; git tag v1; git mv one moved; git commit -q -m moved
git switch -q -c picked HEAD~1; git cherry-pick main >/dev/null; git switch -q main
git reset -q --hard HEAD; git gc -q; git fsck --strict --no-dangling 2>&1
git status --porcelain
""")
        self.assertEqual(out.strip(), "")
        self.assertIn("moved\nmerged\n", self.git("log", "--format=%s", "--first-parent", cwd=self.path("made")))
        self.git("fsck", "--strict", cwd=self.path("made"))
        self.assertEqual(self.git("status", "--porcelain", cwd=self.path("made")), "")

    def test_clone_checkout_of_tracking_branches_and_push(self):
        origin, second = self.bare("origin.git", "main", "topic"), self.bare("second.git", "main")
        out = self.inside("""
git clone -q origin.git copy; cd copy
git checkout -q topic 2>&1; echo mine >mine; git add mine; git commit -q -m mine
git push -q 2>&1
git checkout -q -b feature main; git commit -q --allow-empty -m feature; git push -q -u origin feature 2>&1
git remote add second ../second.git; git push -q -u second feature:other 2>&1
git remote rename second third 2>&1; git remote remove third 2>&1
git fetch -q --all; git branch -vv >/dev/null; git status --porcelain --branch
""")
        self.assertIn("## feature", out)
        self.assertNotIn("error", out)
        copy = self.path("copy")
        self.assertEqual(self.git("config", "branch.topic.remote", cwd=copy), "origin\n")
        self.assertEqual(self.git("config", "branch.topic.merge", cwd=copy), "refs/heads/topic\n")
        self.assertEqual(self.git("log", "-1", "--format=%s", "topic", cwd=origin), "mine\n")
        self.assertEqual(self.git("log", "-1", "--format=%s", "feature", cwd=origin), "feature\n")
        self.assertEqual(self.git("log", "-1", "--format=%s", "other", cwd=second), "feature\n")
        self.git("fsck", "--strict", cwd=copy)

    def test_push_with_upstream_in_the_repository_that_one_works_in(self):
        origin = self.bare("origin.git", "main", "topic")
        self.git("clone", "-q", origin, self.path("repository"))
        place = self.path("repository")
        script = """
git checkout -q topic 2>&1
git checkout -q -b feature 2>&1; git commit -q --allow-empty -m feature 2>&1
git push -q -u origin feature 2>&1
"""
        out = self.inside("cd repository" + script)
        self.assertEqual(self.git("log", "-1", "--format=%s", "feature", cwd=origin), "feature\n")
        if not SUPERVISED:
            return
        self.assertEqual(out, "")
        for branch in ("topic", "feature"):
            self.assertEqual(self.git("config", f"branch.{branch}.remote", cwd=place), "origin\n")
        before = pathlib.Path(place, ".git/config").read_bytes()
        for line in ("git config core.fsmonitor ./bad", "git config core.hooksPath .", "git config alias.x '!sh'",
                     "git config filter.a.clean ./bad", "git remote add other ext::./bad", "echo x >.git/hooks/pre-commit",
                     "git config --worktree core.sshCommand ./bad; test -e .git/config.worktree",
                     "echo '* filter=a' >.git/info/attributes", "rm -rf .git/hooks && mkdir .git/hooks"):
            self.run_cordon("sh", "-c", "cd repository; " + line)
            self.assertEqual(pathlib.Path(place, ".git/config").read_bytes(), before, line)
        self.assertFalse(os.path.exists(os.path.join(place, ".git/hooks/pre-commit")))
        self.assertFalse(os.path.exists(os.path.join(place, ".git/config.worktree")))
        self.assertFalse(os.path.exists(os.path.join(place, ".git/info/attributes")))

    def test_submodules(self):
        self.bare("library.git", "main")
        self.bare("project.git", "main")
        self.inside("""
git clone -q project.git project; cd project
git submodule --quiet add ../library.git library
git commit -q -m 'a library'; git push -q
cd ..; git clone -q project.git again; cd again
git submodule --quiet update --init
cd library; git commit -q --allow-empty -m changed; cd ..
git add library; git commit -q -m newer; git submodule --quiet foreach 'git status --porcelain'
cd ..; git clone -q --recurse-submodules project.git third
""")
        for copy in ("project", "again", "third"):
            self.assertEqual(self.content(copy, "library", "main.txt"), "main\n")
        self.assertEqual(self.git("log", "-1", "--format=%s", cwd=self.path("again")), "newer\n")
        self.assertRegex(self.git("submodule", "status", cwd=self.path("again")), r"^ [0-9a-f]+ library")

    def test_worktrees(self):
        self.inside("""
git init -q -b main made; cd made; echo one >one; git add one; git commit -q -m one
git worktree add -q ../tree -b topic; cd ../tree
echo two >two; git add two; git commit -q -m two; git switch -q -c other
cd ../made; git merge -q topic; git worktree list >/dev/null
git worktree move ../tree ../moved; git worktree add -q ../gone; git worktree remove ../gone; git worktree prune
""")
        self.assertEqual(self.git("log", "--format=%s", cwd=self.path("made")), "two\none\n")
        self.assertEqual(self.git("status", "--porcelain", "--branch", cwd=self.path("moved")), "## other\n")

    def test_work_in_a_linked_worktree(self):
        origin = self.bare("origin.git", "main", "topic")
        shutil.move(origin, os.path.join(self.base, "origin.git"))
        main = os.path.join(self.base, "main")
        self.git("clone", "-q", os.path.join(self.base, "origin.git"), main)
        os.rmdir(self.work)
        self.git("worktree", "add", "-q", "-b", "mine", self.work, cwd=main)
        config = pathlib.Path(main, ".git/config").read_bytes()
        self.git("commit", "-q", "--allow-empty", "-m", "moved on", cwd=main)
        self.git("push", "-q", cwd=main)
        git_directory = os.path.join(main, ".git")
        self.inside("""
echo a >a; git add a; git commit -q -m a
git branch side; git fetch -q; git rebase -q origin/main
git stash list; echo b >b; git add b; git stash -q; git stash pop -q; git commit -q -m b
git tag mark; git switch -q side; git merge -q mine; git switch -q mine
git status --porcelain
""")
        self.assertEqual(self.git("log", "--format=%s", "mine", cwd=main).splitlines()[:3], ["b", "a", "moved on"])
        self.assertIn("mark", self.git("tag", cwd=main))
        for line in (f"echo x >{git_directory}/hooks/post-commit", f"git config core.fsmonitor x; echo x >>{git_directory}/config",
                     f"echo x >{git_directory}/config.worktree", f"echo x >{git_directory}/worktrees/work/config.worktree"):
            self.run_cordon("sh", "-c", line)
        self.assertEqual(pathlib.Path(main, ".git/config").read_bytes(), config)
        self.assertEqual([name for name in os.listdir(os.path.join(main, ".git/hooks")) if not name.endswith(".sample")], [])
        if SUPERVISED:
            for place in ("config.worktree", "worktrees/work/config.worktree"):
                self.assertFalse(os.path.exists(os.path.join(git_directory, place)))

    def test_file_system_monitor(self):
        self.git("init", "-q", "outside")
        said = subprocess.run(["git", "fsmonitor--daemon", "status"], capture_output=True, text=True, check=False,
                              cwd=self.path("outside"), env=self.environment)
        if "not supported" in said.stderr:
            self.skipTest("this git is built without fsmonitor--daemon")
        self.inside("""
git init -q made; cd made; git config core.fsmonitor true
git fsmonitor--daemon start; git fsmonitor--daemon status; echo x >x; git status --porcelain; git fsmonitor--daemon stop
""")


class Packages(WithRules):
    def test_cargo_build_with_path_crates(self):
        cargo = shutil.which("cargo")
        if not cargo:
            self.skipTest("not installed: cargo")
        # A rustup installation is found by these; Debian's cargo needs neither.
        home = pathlib.Path(os.path.expanduser("~/.rustup"))
        self.environment.update({"CARGO_HOME": self.path("cargo-home"), "CARGO_NET_OFFLINE": "true",
                                 **({"RUSTUP_HOME": str(home)} if home.is_dir() else {})})
        self.write("app/Cargo.toml", '[workspace]\nmembers = [".", "../half"]\n[package]\nname = "app"\nversion = "0.1.0"\n'
                   'edition = "2021"\nbuild = "build.rs"\n[dependencies]\nhalf = { path = "../half" }\n')
        self.write("app/Cargo.toml", '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n'
                   '[dependencies]\nhalf = { path = "../half" }\n')
        self.write("app/build.rs", 'fn main() { let out = std::env::var("OUT_DIR").unwrap();\n'
                   '  std::fs::write(format!("{out}/made.pem"), "made").unwrap(); }\n')
        self.write("app/src/main.rs", 'fn main() { println!("{} {}", half::half(84),\n'
                   '  include_str!(concat!(env!("OUT_DIR"), "/made.pem"))); }\n')
        self.write("half/Cargo.toml", '[package]\nname = "half"\nversion = "0.1.0"\nedition = "2021"\n')
        self.write("half/src/lib.rs", "pub fn half(n: u32) -> u32 { n / 2 }\n#[test]\nfn halves() { assert_eq!(half(84), 42); }\n")
        self.shell("cd app && cargo build -q && cargo test -q && cd ../half && cargo test -q", timeout=300)
        self.assertEqual(self.outside(self.path("app/target/debug/app")), "42 made\n")

    def test_pip_install_from_a_local_wheel(self):
        if subprocess.run([PYTHON, "-c", "import ensurepip"], capture_output=True, check=False).returncode != 0:
            self.skipTest("not installed: python3-venv")
        name = "tiny-1.0-py3-none-any.whl"
        record = {"tiny/__init__.py": "def half(n):\n    return n // 2\n", "tiny/data/test.pem": "a fixture\n",
                  "tiny/cli.py": "def main():\n    print('ran')\n",
                  "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
                  "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: made\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                  "tiny-1.0.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny.cli:main\n"}
        os.mkdir(self.path("wheels"))
        with zipfile.ZipFile(self.path("wheels", name), "w") as wheel:
            for path, text in record.items():
                wheel.writestr(path, text)
            wheel.writestr("tiny-1.0.dist-info/RECORD", "".join(f"{path},,\n" for path in record) + "tiny-1.0.dist-info/RECORD,,\n")
        self.output(self.run_cordon(PYTHON, "-m", "venv", ".venv", timeout=180))
        self.shell(".venv/bin/pip install -q --no-index --find-links wheels tiny && .venv/bin/tiny", timeout=180)
        self.assertEqual(self.outside(self.path(".venv/bin/python"), "-c", "import tiny; print(tiny.half(84))"), "42\n")
        self.assertEqual(self.outside(self.path(".venv/bin/tiny")), "ran\n")
        # Packages ship such files, pip itself for one.
        self.assertTrue(list(pathlib.Path(self.path(".venv")).rglob("tiny/data/test.pem")))
        self.shell(".venv/bin/pip uninstall -q -y tiny", timeout=180)
        self.assertFalse(list(pathlib.Path(self.path(".venv")).rglob("tiny/__init__.py")))

    @need("node", "npm")
    def test_npm_install_of_directories_and_archives(self):
        self.write("library/package.json", '{"name":"library","version":"1.0.0","main":"index.js"}')
        self.write("library/index.js", "module.exports = () => 21 + require('tiny')();\n")
        made = os.path.join(self.base, "made")
        for name, text in (("package.json", '{"name":"tiny","version":"1.2.3","bin":{"tiny":"bin.js"}}'), ("index.js", "module.exports = () => 21;\n"),
                           ("bin.js", "#!/usr/bin/env node\nconsole.log('ran');\n"), ("test/server.key", "fixture\n"), ("test/.env", "A=1\n")):
            os.makedirs(os.path.dirname(os.path.join(made, name)), exist_ok=True)
            pathlib.Path(made, name).write_text(text, encoding="ascii")
        with tarfile.open(self.path("tiny.tgz"), "w:gz") as archive:
            archive.add(made, "package")
        self.write("project/package.json", json.dumps({
            "name": "project", "version": "1.0.0", "dependencies": {"library": "file:../library", "tiny": "file:../tiny.tgz"},
            "scripts": {"test": "node test.js && tiny"}}))
        self.write("project/test.js", "if (require('tiny')() !== 21) process.exit(1);\n"
                   "require('fs').writeFileSync('tested', String(require('tiny')() * 2));\n")
        self.shell("cd project && npm install --no-audit --no-fund && npm ls && npm test && npm ci --no-audit --no-fund && npm test",
                   timeout=240)
        self.assertEqual(self.content("project/tested"), "42")
        self.assertTrue(os.path.islink(self.path("project/node_modules/library")))
        self.assertEqual(self.content("project/node_modules/tiny/test/server.key"), "fixture\n")
        self.shell("cd project && npm pack ../library && npm uninstall --no-audit --no-fund tiny", timeout=240)
        self.assertTrue(os.path.exists(self.path("project/library-1.0.0.tgz")))
        self.assertFalse(os.path.exists(self.path("project/node_modules/tiny")))

    @need("make", "cc", "ar")
    def test_parallel_make_of_many_objects(self):
        names = [f"unit{i}" for i in range(60)]
        for name in names:
            self.write(f"src/{name}.c", f"int {name}(void) {{ return 1; }}\n")
        self.write("src/main.c", "".join(f"int {n}(void);\n" for n in names) + "int main(void) { return " + " + ".join(f"{n}()" for n in names) + "; }\n")
        self.write("Makefile", "O := $(patsubst src/%.c,out/%.o,$(wildcard src/*.c))\nmain: $(O)\n\tcc -o $@ $^\n"
                   "out/%.o: src/%.c | out\n\tcc -MD -c -o $@ $<\nout:\n\tmkdir -p out\nclean:\n\trm -rf out main\n-include out/*.d\n")
        self.shell("make -s -j8 && make -s -j8 && make -s clean && make -s -j8", timeout=180)
        self.assertEqual(subprocess.run([self.path("main")], check=False).returncode, 60)


class Programs(WithRules):
    @need("node")
    def test_node_development_server(self):
        self.write("page.txt", "first")
        self.write("server.js", """
const fs = require('fs'), http = require('http');
let page = fs.readFileSync('page.txt', 'utf8'), changed = () => {};
fs.watch('.', (_, name) => {
  if (name !== 'page.txt') return;
  const now = fs.readFileSync('page.txt', 'utf8');
  if (now && now !== page) { page = now; changed(); }
});
const server = http.createServer((request, response) => {
  fs.appendFileSync('access.log', request.url + '\\n');
  response.end(page);
}).listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const get = async path => (await fetch(url + path)).text();
  const first = await get('/one');
  const seen = new Promise(resolve => { changed = resolve; });
  fs.writeFileSync('page.new', 'second');
  fs.renameSync('page.new', 'page.txt');
  await seen;
  fs.writeFileSync('result', [first, await get('/two')].join(' '));
  process.exit(0);
});
""")
        self.output(self.run_cordon("node", "server.js"))
        self.assertEqual(self.content("result"), "first second")
        self.assertEqual(self.content("access.log"), "/one\n/two\n")

    @need("node")
    def test_node_processes_workers_and_unix_sockets(self):
        self.write("child.js", "process.on('message', m => { process.send(m * 2, () => process.disconnect()); });\n")
        self.write("worker.js", "const w = require('worker_threads');\nw.parentPort.postMessage(w.workerData + 1);\n"
                   "require('fs').writeFileSync('by-worker', 'x');\n")
        self.write("main.js", """
const { fork, execFileSync, spawn } = require('child_process');
const { Worker } = require('worker_threads');
const net = require('net'), fs = require('fs');
const once = (emitter, name) => new Promise((resolve, reject) => { emitter.once(name, resolve); emitter.once('error', reject); });
(async () => {
  const child = fork('./child.js'); child.send(21);
  const doubled = await once(child, 'message');
  const worked = await once(new Worker('./worker.js', { workerData: 41 }), 'message');
  const server = net.createServer(c => c.pipe(c)).listen('node.sock');
  await once(server, 'listening');
  const client = net.connect('node.sock'); client.write('echo');
  const echoed = String(await once(client, 'data')); client.destroy(); server.close();
  const shell = execFileSync('sh', ['-c', 'echo out; cat'], { input: 'in' }).toString();
  const log = fs.openSync('spawned.log', 'a');
  await once(spawn('echo', ['spawned'], { stdio: ['ignore', log, log] }), 'exit');
  fs.writeFileSync('result', JSON.stringify([doubled, worked, echoed, shell]));
})();
""")
        self.output(self.run_cordon("node", "main.js"))
        self.assertEqual(json.loads(self.content("result")), [42, 42, "echo", "out\nin"])
        self.assertEqual(self.content("spawned.log"), "spawned\n")
        self.assertEqual(self.content("by-worker"), "x")

    def test_python_processes_and_managers(self):
        self.write("many.py", """
import multiprocessing, multiprocessing.connection, os, tempfile, threading

def add(shared, n):
    shared[n] = n * n

def answer(address):
    with multiprocessing.connection.Client(address) as client:
        client.send(os.path.basename(address))

def main(way):
    context = multiprocessing.get_context(way)
    with context.Manager() as manager:
        shared = manager.dict()
        with context.Pool(3) as pool:
            pool.starmap(add, [(shared, n) for n in range(20)])
        assert sum(shared.values()) == 2470, dict(shared)
    queue = context.Queue()
    child = context.Process(target=queue.put, args=("text",))
    child.start()
    assert queue.get(timeout=30) == "text"
    child.join()
    with multiprocessing.connection.Listener("listener-" + way, "AF_UNIX") as listener:
        child = context.Process(target=answer, args=(listener.address,))
        child.start()
        assert listener.accept().recv() == "listener-" + way
        child.join()

if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        main(way)
    with tempfile.NamedTemporaryFile(dir=".") as named, tempfile.TemporaryFile(dir=".") as unnamed:
        named.write(b"x")
        unnamed.write(b"x")
    open("result", "w").write("all")
""")
        self.output(self.run_cordon(PYTHON, "many.py", timeout=120))
        self.assertEqual(self.content("result"), "all")
        self.assertEqual(sorted(os.listdir(self.work)), ["many.py", "result"])

    def test_sqlite(self):
        self.write("base.py", """
import multiprocessing, sqlite3, sys

def fill(first):
    base = sqlite3.connect("base.db", timeout=60)
    for n in range(first, first + 50):
        with base:
            base.execute("INSERT INTO numbers VALUES (?)", (n,))

if __name__ == "__main__":
    mode = sys.argv[1]
    base = sqlite3.connect("base.db", isolation_level=None)
    assert base.execute("PRAGMA journal_mode=" + mode).fetchone()[0] == mode
    base.execute("CREATE TABLE IF NOT EXISTS numbers (n INTEGER)")
    children = [multiprocessing.Process(target=fill, args=(first,)) for first in (0, 50, 100)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    base.execute("VACUUM")
    base.execute("ATTACH 'second.db' AS second")
    base.execute("CREATE TABLE IF NOT EXISTS second.copy AS SELECT * FROM numbers")
""")
        for round_, mode in enumerate(("wal", "delete", "truncate", "persist"), 1):
            self.output(self.run_cordon(PYTHON, "base.py", mode, timeout=120))
            base = sqlite3.connect(self.path("base.db"))
            self.assertEqual(base.execute("SELECT count(*), min(n), max(n) FROM numbers").fetchone(), (150 * round_, 0, 149))
            self.assertEqual(base.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            base.close()
        self.assertFalse(os.path.exists(self.path("base.db-wal")))

    def test_postgresql(self):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not programs:
            self.skipTest("not installed: postgresql")
        options = ["--env", f"PATH={programs[-1].parent}:{self.environment['PATH']}"]
        if cordon_testing.IS_ROOT:
            options += ["--uid", "1000"]  # the server refuses uid 0
        self.write("run.sh", """
set -e
initdb -D data -U tester -A trust --no-sync >initdb.log
echo "unix_socket_directories = '/tmp'" >>data/postgresql.conf
port=54329
pg_ctl -D data -w -t 60 -l server.log -o "-p $port -c listen_addresses=127.0.0.1 -c fsync=off" start >start.log
sql() { psql -X -q -v ON_ERROR_STOP=1 -p $port -U tester -d postgres "$@"; }
sql -h /tmp -c 'CREATE TABLE numbers AS SELECT generate_series(1, 1000) AS n'
sql -h 127.0.0.1 -At -c 'SELECT sum(n) FROM numbers' >sum
sql -h /tmp -At -c "COPY numbers TO '$PWD/copied'"
createdb -h /tmp -p $port -U tester second
pg_dump -h /tmp -p $port -U tester postgres >dump.sql
psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p $port -U tester -d second -f dump.sql
psql -X -h 127.0.0.1 -p $port -U tester -d second -At -c 'VACUUM FULL numbers; CHECKPOINT' -c 'SELECT count(*) FROM numbers' >count
pg_ctl -D data -w -m fast stop >stop.log
""")
        done = self.run_cordon("sh", "run.sh", options=options, timeout=240)
        log = cordon_testing.read_file(self.path("server.log")).decode()
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}\n{log[-2000:]}")
        self.assertEqual(self.content("sum"), "500500\n")
        self.assertIn("1000\n", self.content("count"))
        self.assertEqual(len(self.content("copied").splitlines()), 1000)
        self.assertIn("CREATE TABLE public.numbers", self.content("dump.sql"))
        self.assertFalse(os.path.exists(self.path("data/postmaster.pid")))
        self.assert_nothing_left()


class Files(WithRules):
    def tree(self, top, count):
        for n in range(count):
            folder = os.path.join(top, f"d{n % 25}", f"e{n % 7}")
            os.makedirs(folder, exist_ok=True)
            path = pathlib.Path(folder, f"file {n}")
            path.write_text(f"content {n}\n" * (n % 5), encoding="ascii")
            path.chmod(0o755 if n % 3 == 0 else 0o640)
        os.symlink("d0/e0", os.path.join(top, "link"))
        os.symlink("nowhere", os.path.join(top, "dangling"))
        os.link(os.path.join(top, "d1/e1/file 1"), os.path.join(top, "d1/hard"))

    def listed(self, top):
        """What a copy must have in common with its source."""
        return {name: (*facts[:1], facts[2], facts[8]) for name, facts in cordon_testing.snapshot(top).items() if name != "."}

    @need("tar", "gzip")
    def test_tar(self):
        source = os.path.join(self.base, "source")
        self.tree(source, 700)
        self.outside("tar", "-czf", self.path("a.tgz"), "-C", source, ".")
        self.shell("mkdir one two && tar -xzpf a.tgz -C one && tar -cf b.tar -C one . && tar -xpf b.tar -C two && cp -a two three && "
                   "mv three four && rm -rf one && mkdir one && (cd two && tar -cf - .) | (cd one && tar -xpf -)")
        expected = self.listed(source)
        for copy in ("one", "two", "four"):
            self.assertTrue(self.listed(self.path(copy)) == expected, copy)

    @need("unzip")
    def test_unzip(self):
        with zipfile.ZipFile(self.path("a.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            for n in range(400):
                archive.writestr(f"d{n % 9}/f{n}", f"{n}\n")
        self.shell("unzip -q a.zip -d out && unzip -q -o a.zip -d out")
        self.assertEqual(sorted(name for _, _, names in os.walk(self.path("out")) for name in names), sorted(f"f{n}" for n in range(400)))
        self.assertEqual(self.content("out/d3/f12"), "12\n")

    @need("tar")
    def test_an_archive_with_a_denied_name_is_unpacked_but_for_it(self):
        if not SUPERVISED:
            self.skipTest("this program has no name rules yet")
        source = os.path.join(self.base, "source")
        os.mkdir(source)
        for name in ("a", ".env", "z", "server.key"):
            pathlib.Path(source, name).write_text("x", encoding="ascii")
        self.outside("tar", "-cf", self.path("a.tar"), "-C", source, ".")
        done = self.run_cordon("tar", "-xf", "a.tar")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("Read-only file system"), 2, done.stderr)
        self.assertEqual(sorted(os.listdir(self.work)), ["a", "a.tar", "z"])

    @need("vim")
    def test_vim(self):
        self.write("text", "one\ntwo\n")
        self.output(self.run_cordon("vim", "-u", "NONE", "-es", "-c", "set backup writebackup undofile swapfile", "-c", "%s/two/three/",
                                    "-c", "wq", "text", options=["--env", "TERM=dumb"]))
        self.assertEqual(self.content("text"), "one\nthree\n")
        self.assertEqual(self.content("text~"), "one\ntwo\n")
        self.assertEqual([name for name in os.listdir(self.work) if name.endswith(".swp")], [])

    def test_usual_ways_to_save_a_file(self):
        self.write("edit.py", """
import os, tempfile
for n in range(50):
    with open("plain", "w") as file:
        file.write(str(n))
    handle, name = tempfile.mkstemp(dir=".")
    os.write(handle, str(n).encode())
    os.fsync(handle)
    os.close(handle)
    os.replace(name, "replaced")
    if n:
        os.rename("backed", "backed~")
    with open("backed", "x") as file:
        file.write(str(n))
    with open("appended", "a") as file:
        file.write(f"{n} ")
    os.truncate("appended", 2)
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
""")
        self.output(self.run_cordon(PYTHON, "edit.py"))
        self.assertEqual([self.content(name) for name in ("plain", "replaced", "backed", "backed~", "appended")], ["49", "49", "49", "48", "0 "])
        self.assertEqual(sorted(os.listdir(self.work)), ["appended", "backed", "backed~", "edit.py", "plain", "replaced"])


class Agents(WithRules):
    @need("ssh-agent", "ssh-add", "ssh-keygen")
    def test_ssh_agent(self):
        # In the session's own /tmp, because a key is not to be written into the working directory.
        self.shell("ssh-keygen -q -t ed25519 -N '' -f /tmp/id && ssh-agent sh -c 'ssh-add -q /tmp/id && ssh-add -l' >listed && "
                   "ssh-agent -a \"$PWD/agent.sock\" sh -c 'ssh-add -q /tmp/id && ssh-add -L' >>listed")
        self.assertEqual(len(re.findall(r"ED25519|ssh-ed25519", self.content("listed"))), 2)

    @need("gpg", "gpg-agent", "gpgconf")
    def test_gpg_agent(self):
        self.write("text", "signed\n")
        self.shell("export GNUPGHOME=/tmp/gnupg; mkdir -m 700 $GNUPGHOME; "
                   "gpg -q --batch --passphrase '' --quick-gen-key somebody@example.com ed25519 sign never 2>/dev/null; "
                   "gpg -q --batch --armor --detach-sign text; gpg -q --verify text.asc text 2>verified; gpgconf --kill gpg-agent",
                   timeout=120)
        self.assertIn("Good signature", self.content("verified"))
        self.assertIn("BEGIN PGP SIGNATURE", self.content("text.asc"))


if __name__ == "__main__":
    cordon_testing.main()
