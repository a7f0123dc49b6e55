"""What the benchmarks of the supervisor work on: an archive, a repository, a tree of packages."""
import base64
import ctypes
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile

# Bytes of small source files: the deciles of /usr/include below 4 KiB.
SIZES = (670, 1290, 1900, 2870, 3960)
FILES_A_FOLDER = 100
CLONE_NEWNS = 0x00020000
MS_REC_PRIVATE = 0x4000 | 0x40000


def text_of(number):
    size = SIZES[number % len(SIZES)]
    return (f"line {number}\n" * (size // 6 + 1)).encode()[:size]


def small_files(count):
    """[(path, content)]"""
    return [(f"part{i // FILES_A_FOLDER:03}/file{i:05}.txt", text_of(i)) for i in range(count)]


def disk(folder, gibibytes):
    """A file system of its own below `folder`, made for this process alone; None where that is not allowed.

    Some virtual machines have an ext4 without a journal, which finds no inode quickly after many were removed.
    """
    if os.geteuid() != 0:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC_PRIVATE, None) != 0:
        return None
    image, place = folder / "image", folder / "disk"
    place.mkdir()
    with open(image, "wb") as out:
        out.truncate(gibibytes << 30)
    for words in (["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(image)],
                  ["mount", "-o", "loop", str(image), str(place)]):
        try:
            if subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
                return None
        except FileNotFoundError:
            return None
    return place


def leave_disk(folder):
    """Undoes disk(), so that `folder` can be removed."""
    place = folder / "disk"
    if os.path.ismount(place):
        # Lazily: what a task left running may still be in it.
        subprocess.run(["umount", "-l", str(place)], check=False)


def add(archive, path, content):
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode, entry.uid, entry.gid = len(content), 0o644, os.geteuid(), os.getegid()
    archive.addfile(entry, io.BytesIO(content))


def make_archive(path, top, count):
    """Not compressed: unpacking it is making files and little else."""
    with tarfile.open(path, "w") as archive:
        folders = set()
        for name, content in small_files(count):
            folder = f"{top}/{name.split('/')[0]}"
            if folder not in folders:
                folders.add(folder)
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, 0o755, os.geteuid(), os.getegid()
                archive.addfile(entry)
            add(archive, f"{top}/{name}", content)


def make_repository(path, count):
    """A repository with the branches `empty`, which is checked out, and `full`."""
    def data(content):
        return b"data %d\n%s\n" % (len(content), content)
    head = b"committer Bench <bench@localhost> 1700000000 +0000\n"
    text = [b"commit refs/heads/empty\n", head, data(b"empty"), b"M 100644 inline README\n", data(b"read me\n"),
            b"commit refs/heads/full\n", head, data(b"full"), b"from refs/heads/empty\n"]
    for name, content in small_files(count):
        text += [b"M 100644 inline %s\n" % name.encode(), data(content)]
    subprocess.run(["git", "init", "-q", "-b", "empty", str(path)], check=True)
    subprocess.run(["git", "-C", str(path), "fast-import", "--quiet"], input=b"".join(text), check=True)
    subprocess.run(["git", "-C", str(path), "checkout", "-q", "empty"], check=True)


def package(name, files, needs):
    """A package as npm packs it."""
    out = io.BytesIO()
    described = {"name": name, "version": "1.0.0", "main": "index.js", "dependencies": {n: "1.0.0" for n in needs}}
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as archive:
        add(archive, "package/package.json", json.dumps(described).encode())
        add(archive, "package/index.js", b"module.exports = 1;\n")
        for i in range(files):
            add(archive, f"package/lib/part{i % 4}/module{i:03}.js", text_of(i))
    return out.getvalue()


def make_packages(path, count, files):
    """A project `path`/project with a lock file, whose `count` packages are all in `path`/cache.

    The cache is filled by npm itself; the lock file names each package by its digest, so nothing is asked of a
    registry. Every tenth package stands below another one, as where two versions are needed.
    """
    packed = path / "packed"
    packed.mkdir(parents=True)
    names = [f"made-package-{i:03}" for i in range(count)]
    lock, archives = {}, []
    for i, name in enumerate(names):
        needs = [names[i + 1]] if i % 10 == 0 and i + 1 < count else []
        content = package(name, files, needs)
        archives.append(packed / f"{name}.tgz")
        archives[-1].write_bytes(content)
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        below = f"node_modules/{names[i - 1]}/" if i % 10 == 1 else ""
        entry = {"version": "1.0.0", "resolved": f"https://registry.npmjs.org/{name}/-/{name}-1.0.0.tgz",
                 "integrity": f"sha512-{digest}"}
        if needs:
            entry["dependencies"] = {needs[0]: "1.0.0"}
        lock[f"{below}node_modules/{name}"] = entry
    wanted = {name: "1.0.0" for i, name in enumerate(names) if i % 10 != 1}
    project = path / "project"
    project.mkdir()
    about = {"name": "project", "version": "1.0.0"}
    (project / "package.json").write_text(json.dumps({**about, "dependencies": wanted}))
    (project / "package-lock.json").write_text(json.dumps(
        {**about, "lockfileVersion": 3, "requires": True,
         "packages": {"": {**about, "dependencies": wanted}, **lock}}))
    cache = path / "cache"
    subprocess.run(["npm", "cache", "add", "--offline", "--cache", str(cache), *map(str, archives)], check=True,
                   stdout=subprocess.DEVNULL, cwd=path)
    return pathlib.Path(project), cache
