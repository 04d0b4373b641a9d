#include "plan/builtin.h"

/* Dropped by environment.inherit "safe": what lets its reader act as the user, and the ways to the user's services. */
const char *const qsb__secret_variables[] = {
	/* By what a name says of itself. */
	"*TOKEN", "*_TOKEN_*", "*_KEY", "*APIKEY", "*API_KEY*", "*ACCESS_KEY*", "*PRIVATE_KEY*", "*SECRET*", "*PASSWORD*",
	"*PASSWD*", "*PASSPHRASE*", "*_PASS", "*_PWD", "*CREDENTIAL*", "*_AUTH", "*_COOKIE", "*_SIGNATURE",
	"*CONNECTION_STRING*", "*_DSN", "*WEBHOOK_URL*", "*_JWT", "*_BEARER", "*_PAT",
	/* Accounts whose variables have names of their own. */
	"AWS_*", "AZURE_*", "ARM_CLIENT_*", "GOOGLE_APPLICATION_*", "GCP_*", "GCLOUD_*", "CLOUDSDK_*", "OCI_CLI_*", "ALICLOUD_*",
	"ALIBABA_CLOUD_*", "TENCENTCLOUD_*", "DIGITALOCEAN_*", "GITHUB_*TOKEN", "GH_*TOKEN", "GITLAB_*TOKEN", "CI_JOB_JWT*",
	"ACTIONS_ID_TOKEN_*", "ACTIONS_RUNTIME_*", "OPENAI_API_*", "ANTHROPIC_API_*", "ANTHROPIC_AUTH_*", "NPM_CONFIG__AUTH*",
	"npm_config_*auth*", "POETRY_HTTP_BASIC_*", "POETRY_PYPI_TOKEN_*",
	"CARGO_REGISTRIES_*_TOKEN", "TWINE_*", "NETRC", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "VAULT_*", "BW_SESSION",
	"OP_SESSION*", "PGPASSFILE", "MYSQL_PWD", "REDISCLI_AUTH", "KUBECONFIG", "DOCKER_CONFIG", "DOCKER_AUTH_*",
	"REGISTRY_AUTH_FILE", "RESTIC_*", "BORG_*",
	/* Ways back into the editor that started us. */
	"VSCODE_IPC_HOOK*", "VSCODE_GIT_*", "ELECTRON_RUN_AS_NODE", "NODE_IPC_FD", "NODE_CHANNEL_FD",
	/* Ways to the user's own services outside. */
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "GPG_AGENT_INFO", "GNOME_KEYRING_*",
	"DBUS_*", "DISPLAY", "WAYLAND_*", "XAUTHORITY", "ICEAUTHORITY", "SESSION_MANAGER", "XDG_RUNTIME_DIR", "PULSE_*", "PIPEWIRE_*",
	"DOCKER_HOST", "DOCKER_CERT_PATH", "CONTAINER_HOST", "PODMAN_*", "BUILDKIT_HOST", "CONTAINERD_ADDRESS", "LISTEN_FDS",
	"LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_*", "JOURNAL_STREAM", "INVOCATION_ID", "TMUX", "TMUX_PANE",
	"STY", "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "ALACRITTY_SOCKET", "EMACS_SERVER_FILE", "NVIM", "NVIM_LISTEN_ADDRESS",
	"SWAYSOCK", "I3SOCK", "HYPRLAND_*", "AT_SPI_BUS_ADDRESS", "IBUS_ADDRESS", "GIO_LAUNCHED_*",
	NULL,
};

const char *const qsb__harmless_variables[] = {
	"PWD", "OLDPWD", "*_CA_BUNDLE", "*_CA_CERT*", "AWS_REGION", "AWS_DEFAULT_REGION", NULL,
};

const char *const qsb__basic_variables[] = {
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TZ", NULL,
};

const char *const qsb__basic_windows_variables[] = {
	/* Windows programs do not start without these. */
	"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE",
	"HOMEPATH", "APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", NULL,
};
