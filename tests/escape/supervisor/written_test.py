#!/usr/bin/env python3
"""Files that are written inside and run or believed outside, none of which is there at start (rows 27, 28)."""
import json
import os
import subprocess

import names

AGENTS = (".claude/settings.json", ".claude/settings.local.json", ".claude/skills/s/SKILL.md", ".claude/agents/a.md", ".claude/commands/c.md",
          ".claude/hooks/h.sh", ".claude/workflows/w.yml", ".claude/plugins/p/plugin.json", ".claude/scheduled_tasks.json", ".mcp.json",
          ".cordon/settings.json", ".cordon.json", ".cursor/mcp.json", ".cursor/cli.json", ".cursor/hooks.json", ".cursor/environment.json",
          ".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json", ".gemini/.env", ".gemini/commands/c.toml", ".gemini/extensions/e/x.json",
          ".qwen/settings.json", ".opencode/plugin/x.js", "opencode.json", "opencode.jsonc", ".crush.json", "crush.json", ".amp/settings.json",
          ".aider.conf.yml", ".continue/config.json", ".cline/x.json", ".clinerules/hooks/x", ".roo/mcp.json", ".roomodes", ".kilocode/mcp.json",
          ".windsurf/hooks.json", ".windsurf/workflows/w.md", ".kiro/settings/mcp.json", ".kiro/hooks/x", ".junie/mcp/mcp.json", ".factory/settings.json",
          ".augment/settings.json", ".trae/mcp.json", ".amazonq/cli-agents/a.json", ".copilot/mcp-config.json", ".github/hooks/x.json", ".openhands/setup.sh",
          ".pi/settings.json", ".goose/config.yaml", ".agents/skills/s/SKILL.md")
EDITORS = (".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".idea/workspace.xml", ".idea/runConfigurations/x.xml", ".zed/tasks.json",
           ".fleet/run.json")
SHELLS = (".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".profile", ".inputrc",
          ".config/fish/config.fish", ".config/fish/conf.d/x.fish", ".envrc", ".gitconfig", ".gitmodules", ".ripgreprc", ".hg/hgrc", ".ssh/authorized_keys",
          ".ssh/rc", ".ssh/config")
HOME = (".bashrc", ".profile", ".zshenv", ".bash_completion", ".config/zsh/.zshrc", ".config/systemd/user/x.service", ".config/systemd/user/default.target.wants/x",
        ".local/share/systemd/user/x.service", ".config/autostart/x.desktop", ".config/environment.d/x.conf", ".pam_environment", ".xprofile",
        ".local/share/dbus-1/services/x.service", ".ssh/authorized_keys", ".ssh/rc", ".gitconfig", ".config/git/config", ".config/git/attributes", ".gnupg/gpg.conf",
        ".vimrc", ".vim/plugin/x.vim", ".config/nvim/init.lua", ".emacs.d/init.el", ".tmux.conf", ".gdbinit", ".Rprofile", ".psqlrc", ".pythonrc.py", ".curlrc",
        ".config/direnv/direnvrc", ".config/Code/User/tasks.json", ".claude.json", ".claude/settings.json", ".claude/CLAUDE.md", ".claude/.credentials.json",
        ".codex/config.toml", ".gemini/settings.json", ".cursor/mcp.json", ".config/cordon/profiles/default.json", ".config/opencode/opencode.json")
# Run later too, but projects have to change them: not refused, but said (spec 01).
CHANGED = (".github/workflows/ci.yml", ".husky/pre-commit", ".pre-commit-config.yaml", ".devcontainer/devcontainer.json", "package.json", "Makefile",
           "conftest.py")


class Written(names.NameTest):
    """Each name alone, with its folders missing and with them there."""
    LINE = 'for f in "$@"; do mkdir -p "$(dirname "$f")"; echo evil > "$f"; echo evil > evil; cp evil "$f"; mv -f evil "$f"; ln -sf /bin/true "$f"; done 2>/dev/null; echo end'

    def attack(self, top, paths, options=(), prepare=lambda: None):
        full = [os.path.join(top, path) for path in paths]
        prepare()
        self.outside("sh", "-c", self.LINE, "sh", *full)
        self.assertEqual([path for path in full if not os.path.lexists(path)], [])
        self.clear()
        for folders in (False, True):
            prepare()
            for path in full if folders else ():
                # Not those that are protected as a whole.
                first = os.path.relpath(path, top).split("/")[0]
                if first in (".claude", ".config", ".cursor", ".gemini", ".github", ".local", ".kiro", ".windsurf", ".agents"):
                    os.makedirs(os.path.dirname(path), exist_ok=True)
            done = self.inside("sh", "-c", self.LINE, "sh", *full, options=options)
            self.assertEqual(done.stdout, "end\n", done.stderr)
            self.assertEqual([path for path in full if os.path.lexists(path)], [])
            reported = [violation["target"] for violation in self.violations()]
            for path in full:
                # The refusal may be of a folder on the way.
                self.assertTrue([target for target in reported if path == target or path.startswith(target + "/")], (path, folders))
            self.clear()

    def clear(self):
        self.fresh()
        names.cordon_testing.remove_tree(self.home)
        os.mkdir(self.home)

    def test_agents(self):
        self.attack(self.work, AGENTS)

    def test_editors(self):
        self.attack(self.work, EDITORS)

    def test_shells_and_tools(self):
        self.attack(self.work, SHELLS)

    def test_in_a_second_writable_folder(self):
        second = os.path.join(self.home, "second")
        self.attack(second, (*SHELLS, *EDITORS, ".mcp.json", ".claude/settings.json"), ["--write", second],
                    prepare=lambda: os.makedirs(second, exist_ok=True))

    def test_in_a_writable_home(self):
        self.attack(self.home, HOME, ["--write", self.home])

    def test_above_the_working_directory(self):
        deep = self.path("one/two")
        paths = (".claude/settings.json", ".claude/hooks/x.sh", ".mcp.json", ".cordon.json", "one/.claude/settings.json", "one/.mcp.json", "one/two/.mcp.json")
        self.attack(self.work, paths, ["--workdir", deep, "--write", self.work], prepare=lambda: os.makedirs(deep, exist_ok=True))

    def test_in_a_repository_below(self):
        repo = self.path("deps/lib")
        def prepare():
            if not os.path.exists(repo):
                subprocess.run(["git", "init", "-q", "--template=", repo], check=True, env=self.environment)
        self.attack(repo, (".vscode/tasks.json", ".idea/workspace.xml", ".gitmodules", ".envrc", ".bashrc", ".mcp.json", ".git/hooks/pre-commit",
                           ".git/config.worktree", ".git/info/attributes", ".git/commondir"), prepare=prepare)

    def test_rules_do_not_lift_it(self):
        self.attack(self.work, (".bashrc", ".vscode/tasks.json", ".claude/settings.json"),
                    ["--write", ".", "--write", ".vscode", "--write", ".bashrc", "--write", "**/settings.json", "--mount", self.work])

    def test_neighbours_are_free(self):
        free = (".bashrcs", "bashrc", "sub/plain.bashrc", ".vscodes/x", "vscode/tasks.json", ".claude/notes.md", "docs/.mcp.json.md", ".github/ISSUE_TEMPLATE/x.md",
                ".cursor/rules/x.mdc", "AGENTS.md", "CLAUDE.md", ".config/app.toml", ".gitattributes", ".gitignore", ".editorconfig", "src/hooks/x", "config", "hooks/y")
        done = self.inside("sh", "-ec", 'for f in "$@"; do mkdir -p "$(dirname "$f")"; echo x > "$f"; done', "sh", *free, options=[])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([name for name in free if not os.path.isfile(self.path(name))], [])
        self.assertEqual(self.violations(), [])

    def test_what_runs_later_and_is_not_refused_is_said(self):
        line = 'for f in "$@"; do mkdir -p "$(dirname "$f")"; echo x > "$f"; done'
        self.assertEqual(self.inside("sh", "-ec", line, "sh", *CHANGED, options=[]).returncode, 0)
        changed = {event.get("target") for event in self.events() if event["type"] == "changed"}
        self.assertEqual({self.path(name) for name in CHANGED} - changed, set(), json.dumps(self.events())[:2000])
        self.assertEqual(self.violations(), [])

    def test_file_rules_switched_off(self):
        """The one way out is a word of its own."""
        spec = self.at("off.json")
        with open(spec, "w", encoding="ascii") as file:
            json.dump({"sessionId": "off", "workspaceId": "test", "view": "host", "guestWorkdir": self.work,
                       "filesystem": {"allowWrite": [self.work], "disabled": True}}, file)
        self.inside("sh", "-ec", "echo x > .bashrc", options=["--spec", spec])
        self.assertTrue(os.path.exists(self.path(".bashrc")))


if __name__ == "__main__":
    names.main()
