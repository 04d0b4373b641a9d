#include <string.h>

#include "plan/builtin.h"

#define GIT    "git runs or trusts it"
#define SHELL  "a shell runs it when it starts"
#define EDITOR "an editor runs or trusts it when the folder is opened"
#define AGENT  "an agent takes its orders, tools or permissions from it"
#define CI     "a build server runs it"
#define HOOKS  "a tool runs it on the user's next command"
#define TOOL   "a package manager takes servers, scripts or tokens from it"

/* Sorted by `name`: entries of one name stand together, and the scan looks names up by their first byte. */
const struct qsb__protected_name qsb__protected_names[] = {
	{".agents", NULL, false, AGENT, true},
	{".aider.conf.yml", NULL, false, AGENT, true},
	{".appveyor.yml", NULL, false, CI, true},
	{".bash_aliases", NULL, false, SHELL, false},
	{".bash_login", NULL, false, SHELL, false},
	{".bash_logout", NULL, false, SHELL, false},
	{".bash_profile", NULL, false, SHELL, false},
	{".bashrc", NULL, false, SHELL, false},
	{".buildkite", NULL, false, CI, true},
	{".cargo", "config", false, "cargo runs the linkers and runners it names", true},
	{".cargo", "config.toml", false, "cargo runs the linkers and runners it names", true},
	{".circleci", NULL, false, CI, true},
	{".cirrus.yml", NULL, false, CI, true},
	{".claude", "agents", false, AGENT, true},
	{".claude", "commands", false, AGENT, true},
	{".claude", "hooks", false, AGENT, true},
	{".claude", "settings.json", false, AGENT, true},
	{".claude", "settings.local.json", false, AGENT, true},
	{".claude", "skills", false, AGENT, true},
	{".clinerules", NULL, false, AGENT, true},
	{".codex", NULL, false, AGENT, true},
	{".continue", NULL, false, AGENT, true},
	{".cshrc", NULL, false, SHELL, false},
	{".cursor", NULL, false, AGENT, true},
	{".cursorrules", NULL, false, AGENT, true},
	{".devcontainer", NULL, false, EDITOR, true},
	{".devcontainer.json", NULL, false, EDITOR, true},
	{".drone.yml", NULL, false, CI, true},
	{".envrc", NULL, false, "direnv runs it when a shell enters the folder", false},
	{".exrc", NULL, false, EDITOR, true},
	{".forgejo", "workflows", false, CI, true},
	{".gemini", NULL, false, AGENT, true},
	{".git", NULL, true, "it says where git finds its settings and hooks", false},
	{".git", "commondir", false, GIT, false},
	{".git", "config", false, "git runs programs that it names", false},
	{".git", "config.worktree", false, "git runs programs that it names", false},
	{".git", "gitdir", false, GIT, false},
	{".git", "hooks", false, "git runs what lies in it", false},
	{".git", "info/attributes", false, "it chooses programs that git runs on files", false},
	{".git", "modules/**/config", false, "git runs programs that it names", false},
	{".git", "modules/**/hooks", false, "git runs what lies in it", false},
	{".git", "worktrees/*/config.worktree", false, "git runs programs that it names", false},
	{".gitea", "workflows", false, CI, true},
	{".github", "actions", false, CI, true},
	{".github", "workflows", false, CI, true},
	{".gitconfig", NULL, false, "git runs programs that it names", false},
	{".gitlab-ci.yml", NULL, false, CI, true},
	{".gitmodules", NULL, false, "it names the servers that git takes code from", true},
	{".gvimrc", NULL, false, EDITOR, true},
	{".hg", "hgrc", false, "Mercurial runs programs that it names", false},
	{".husky", NULL, false, HOOKS, true},
	{".idea", NULL, false, EDITOR, true},
	{".kiro", NULL, false, AGENT, true},
	{".kshrc", NULL, false, SHELL, false},
	{".lefthook.yml", NULL, false, HOOKS, true},
	{".mcp.json", NULL, false, AGENT, true},
	{".mise.toml", NULL, false, HOOKS, true},
	{".npmrc", NULL, false, TOOL, true},
	{".nvim.lua", NULL, false, EDITOR, true},
	{".nvimrc", NULL, false, EDITOR, true},
	{".opencode", NULL, false, AGENT, true},
	{".pnpmfile.cjs", NULL, false, TOOL, true},
	{".pre-commit-config.yaml", NULL, false, HOOKS, true},
	{".profile", NULL, false, SHELL, false},
	{".qiming-sandbox.json", NULL, false, "this sandbox's own policy", false},
	{".qwen", NULL, false, AGENT, true},
	{".ripgreprc", NULL, false, "ripgrep runs the preprocessor it names", true},
	{".roo", NULL, false, AGENT, true},
	{".svn", "hooks", false, "Subversion runs what lies in it", false},
	{".tcshrc", NULL, false, SHELL, false},
	{".travis.yml", NULL, false, CI, true},
	{".vim", NULL, false, EDITOR, true},
	{".vimrc", NULL, false, EDITOR, true},
	{".vscode", NULL, false, EDITOR, true},
	{".windsurf", NULL, false, AGENT, true},
	{".windsurfrules", NULL, false, AGENT, true},
	{".woodpecker", NULL, false, CI, true},
	{".woodpecker.yml", NULL, false, CI, true},
	{".yarnrc", NULL, false, TOOL, true},
	{".yarnrc.yml", NULL, false, TOOL, true},
	{".zed", NULL, false, EDITOR, true},
	{".zlogin", NULL, false, SHELL, false},
	{".zlogout", NULL, false, SHELL, false},
	{".zprofile", NULL, false, SHELL, false},
	{".zshenv", NULL, false, SHELL, false},
	{".zshrc", NULL, false, SHELL, false},
	{"Jenkinsfile", NULL, false, CI, true},
	{"appveyor.yml", NULL, false, CI, true},
	{"azure-pipelines.yml", NULL, false, CI, true},
	{"bitbucket-pipelines.yml", NULL, false, CI, true},
	{"claude_desktop_config.json", NULL, false, AGENT, true},
	{"lefthook.yml", NULL, false, HOOKS, true},
	{"mcp.json", NULL, false, AGENT, true},
};
const size_t qsb__protected_name_count = sizeof(qsb__protected_names) / sizeof(qsb__protected_names[0]);

const char *const qsb__unscanned_folders[] = {
	"node_modules",  "target",           "venv",        ".venv",         "__pycache__", ".tox",
	".nox",          ".cache",           ".mypy_cache", ".pytest_cache", ".gradle",     ".m2",
	".npm",          ".pnpm-store",      ".yarn",       ".rustup",       ".nvm",        ".pyenv",
	"site-packages", "bower_components", NULL,
};

const char *const qsb__package_folders[] = {
	"vendor", "dist-packages", "_cacache", ".cargo", ".gem", ".nuget", ".pub-cache", "Pods", NULL,
};

bool qsb__is_package_version(const char *name, size_t length)
{
	const char *at = memchr(name, '@', length);

	return at && at > name && at + 2 < name + length && at[1] == 'v' && at[2] >= '0' && at[2] <= '9';
}
