"""The caller's environment: secrets and sockets stay outside, the rest passes."""
from harness import row

SECRETS = {
    'access to services': ['GITHUB_TOKEN', 'GH_TOKEN', 'GITLAB_TOKEN', 'NPM_TOKEN', 'NODE_AUTH_TOKEN', 'HF_TOKEN',
                           'SLACK_BOT_TOKEN', 'VAULT_TOKEN', 'CI_JOB_TOKEN', 'MY_OWN_TOKEN', 'TOKEN'],
    'keys': ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'DASHSCOPE_API_KEY', 'STRIPE_KEY', 'MY_KEY', 'PRIVATE_KEY',
             'SSH_PRIVATE_KEY', 'API_KEY', 'APIKEY', 'ENCRYPTION_KEY'],
    'secrets': ['CLIENT_SECRET', 'AZURE_CLIENT_SECRET', 'MY_SECRET', 'JWT_SECRET', 'SECRET', 'SECRET_KEY_BASE'],
    'passwords': ['DB_PASSWORD', 'PGPASSWORD', 'MYSQL_PWD', 'REDIS_PASSWORD', 'MY_PASSWD', 'PASSWORD', 'SUDO_PASSWORD',
                  'KEY_PASSPHRASE'],
    'Amazon': ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_SECURITY_TOKEN',
               'AWS_CONTAINER_AUTHORIZATION_TOKEN', 'AWS_WEB_IDENTITY_TOKEN_FILE', 'AWS_PROFILE'],
    'credentials': ['GOOGLE_APPLICATION_CREDENTIALS', 'MY_CREDENTIALS', 'DOCKER_AUTH_CONFIG', 'KUBECONFIG'],
    'lower and mixed case': ['github_token', 'my_api_key', 'Db_Password', 'aws_secret_access_key',
                             'npm_config__authToken'],
    'agents and sockets': ['SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'GPG_AGENT_INFO', 'DBUS_SESSION_BUS_ADDRESS',
                           'DOCKER_HOST', 'WAYLAND_DISPLAY', 'DISPLAY', 'XAUTHORITY', 'PULSE_SERVER', 'PIPEWIRE_REMOTE',
                           'VSCODE_IPC_HOOK', 'VSCODE_GIT_IPC_HANDLE', 'TMUX', 'SUDO_ASKPASS', 'SSH_ASKPASS'],
}
VALUE = 'canary-of-the-caller'


def names_inside(outcome):
    return {line.split('=', 1)[0] for line in outcome.out.splitlines() if '=' in line}


def passed(names, text):
    """Those of `names` that the output of env holds with their value."""
    lines = set(text.splitlines())
    return sorted(name for name in names if f'{name}={VALUE}' in lines)


def scrub(kind):
    @row('A-proc-9', f'variables with {kind} are scrubbed, and passed when named')
    def scrubbed(case):
        names = SECRETS[kind]
        env = {**case.env, **{name: VALUE for name in names}}
        outside = case.plain(['env'], env=env)
        case.control(set(names) <= names_inside(outside), 'the variables do not pass outside')
        inside = case.inside(['env'], env=env)
        case.check('HOME=' in inside.out, 'no environment inside', inside)
        case.same(passed(names, inside.out), [], 'variables that leak')
        printed = case.result(['env'], env=env)['stdout']
        case.check('HOME=' in printed, 'no environment inside with --json')
        case.same(passed(names, printed), [], 'variables that leak with --json')
        inside = case.inside(['env'], [option for name in names for option in ('--env', name)], env=env)
        case.same(passed(names, inside.out), sorted(names), 'variables that were named', inside)
        inside = case.inside(['env'], case.policy({'environment': {'pass': [names[0]]}}), env=env)
        case.same(passed(names, inside.out), names[:1], 'variables with one named in the policy', inside)
    scrubbed.__name__ = 'scrub_' + kind.replace(' ', '_')
    return scrubbed


for secret_kind in SECRETS:
    scrub(secret_kind)


@row('A-proc-9', 'addresses that hold a password are scrubbed')
def secret_values(case):
    values = {'DATABASE_URL': 'postgres://user:canary-pw@host/db', 'REDIS_URL': 'redis://:canary-pw@host/0',
              'MONGODB_URI': 'mongodb://user:canary-pw@host'}
    env = {**case.env, **values}
    case.control('canary-pw' in case.plain(['env'], env=env).out, 'the variables do not pass outside')
    inside = case.inside(['env'], env=env)
    case.check('HOME=' in inside.out, 'no environment inside', inside)
    leaked = sorted(name for name in values if name in names_inside(inside))
    case.same(leaked, [], 'variables that leak a password', inside)


@row('A-proc-9', 'ordinary variables pass')
def ordinary(case):
    values = {'NODE_ENV': 'test', 'CI': '1', 'EDITOR': 'vi', 'MY_SETTING': 'on', 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC',
              'NO_COLOR': '1', 'MAKEFLAGS': '-j2', 'PYTHONPATH': '/x', 'TOKENIZERS_PARALLELISM': 'false',
              'KEYBOARD': 'us', 'MONKEY': 'banana'}
    env = {**case.env, **values}
    case.control(set(values) <= names_inside(case.plain(['env'], env=env)), 'the variables do not pass outside')
    inside = case.inside(['env'], env=env)
    missing = sorted(name for name, value in values.items() if f'{name}={value}' not in inside.out.splitlines())
    case.same(missing, [], 'ordinary variables that are missing', inside)
    for name in ('PATH', 'HOME', 'USER', 'LANG', 'TERM'):
        case.check(name in names_inside(inside), f'{name} is missing', inside)
