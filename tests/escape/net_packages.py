"""What package managers and git fetch by a filtered network, from a registry and repositories that the test serves."""
import os
import shutil

from harness import row
from harness_sites import registry_of
from harness_world import NO_PROXIES, PYTHON, World, filtered, needs

GOOD, BAD = 'registry.example.com', 'denied.example.net'
ALLOW = filtered(GOOD)
WAYS = (('with the variables', []), ('without', NO_PROXIES))


def registry_world(case):
    """A world with the same registry under an allowed name and under one that is not."""
    world = World(case)
    world.projects = os.path.join(case.base, 'projects')
    os.mkdir(world.projects)
    world.sites_of = {}
    for number, name in ((10, GOOD), (30, BAD)):
        world.sites_of[name] = world.web(f'203.0.113.{number}', handler=registry_of(world.projects))
        world.name(name, f'203.0.113.{number}')
    case.env.update({'GIT_SSL_CAINFO': case.env['TEST_CA'], 'GIT_CONFIG_NOSYSTEM': '1', 'GIT_TERMINAL_PROMPT': '0',
                     'NODE_EXTRA_CA_CERTS': case.env['TEST_CA'], 'npm_config_cafile': case.env['TEST_CA'],
                     'npm_config_cache': os.path.join(case.work, 'npm-cache'), 'PIP_CERT': case.env['TEST_CA'],
                     'PIP_DISABLE_PIP_VERSION_CHECK': '1', 'PIP_NO_CACHE_DIR': '1', 'PIP_RETRIES': '0',
                     'npm_config_update_notifier': 'false', 'npm_config_fetch_retries': '0',
                     'CARGO_HTTP_CAINFO': case.env['TEST_CA'], 'CARGO_HOME': os.path.join(case.work, 'cargo'),
                     'CARGO_NET_RETRY': '0'})
    for key, value in (('user.name', 'T'), ('user.email', 't@example.com')):
        case.worked(case.plain(['git', 'config', '--global', key, value]), 'git config')
    return world


def tool(case, world, text, options=ALLOW, patience=120):
    """Shell text with $NAME = where to fetch from. It works for both names outside; inside for the allowed one, the same
    output, and for the other it fails and no server hears of it."""
    def shell(name):
        return ['env', f'NAME={name}', 'sh', '-ec', text]
    outside = {}
    for name in (GOOD, BAD):
        outside[name] = case.plain(shell(name), patience=patience)
        case.control(outside[name].code == 0, f'does not work outside: {outside[name].describe()}')
    for label, prefix in WAYS:
        for site in world.sites_of.values():
            site.forget()
        clean(case)
        inside = case.inside([*prefix, *shell(GOOD)], options, patience=patience)
        case.same((inside.code, inside.out), (0, outside[GOOD].out), f'an allowed name, {label}', inside)
        case.check(world.sites_of[GOOD].got, f'nothing was fetched, {label}', inside)
        clean(case)
        inside = case.inside([*prefix, *shell(BAD)], options, patience=patience)
        case.check(inside.code not in (0, 125), f'a name under no rule must end with an error, {label}', inside)
        case.same((world.sites_of[BAD].got, world.sites_of[BAD].connections), ([], []), f'what its server got, {label}')


def clean(case):
    """A repository that is there when a run begins is protected: the next run starts without it."""
    for name in ('cargo', 'copy', 'out'):
        shutil.rmtree(os.path.join(case.work, name), ignore_errors=True)


def repository(case, world, name='left.git'):
    place = os.path.join(world.projects, name)
    done = case.plain(['sh', '-ec', '''
        git init -q --bare -b main "$0"; git -C "$0" config http.receivepack true; git init -q -b main seed; cd seed
        mkdir -p src; echo 'pub fn answer() -> u8 { 42 }' > src/lib.rs; echo text > file
        printf '[package]\\nname = "left"\\nversion = "1.2.3"\\nedition = "2018"\\n' > Cargo.toml
        git add .; git commit -qm first; git push -q "$0" main; cd ..; rm -rf seed''', place])
    case.control(done.code == 0, f'git does not work outside: {done.describe()}')
    return place


@row('W-net-2', 'git: clone, fetch and push over HTTPS and HTTP')
def git(case):
    world = registry_world(case)
    needs(case, 'git')
    repository(case, world)
    for scheme in ('https', 'http'):
        # Each push adds a line, so only what does not depend on the number of them is shown.
        tool(case, world, f'''
            rm -rf copy; git clone -q {scheme}://$NAME/git/left.git copy; cd copy; cat file | head -1; echo more >> file
            git commit -qam more; git push -q origin main; git fetch -q; git status -sb | head -1; git ls-remote origin | wc -l
            cd ..; rm -rf copy''')


@row('W-net-2', 'npm: install from a registry')
def npm(case):
    world = registry_world(case)
    needs(case, 'npm')
    case.write('app/package.json', '{"name": "app", "version": "1.0.0"}')
    tool(case, world, '''
        rm -rf out npm-cache; cp -r app out; cd out
        npm install --registry https://$NAME/npm/ --no-audit --no-fund --silent left; node -p 'require("left")("ok")'
        cd ..; rm -rf out npm-cache''')


@row('W-net-2', 'pip: download and install from an index')
def pip(case):
    world = registry_world(case)
    case.control(case.plain([PYTHON, '-m', 'pip', '--version']).code == 0, 'pip is not installed')
    tool(case, world, f'''
        rm -rf wheels target; {PYTHON} -m pip download -q --index-url https://$NAME/simple/ -d wheels leftpad; ls wheels
        {PYTHON} -m pip install -q --index-url https://$NAME/simple/ --target target leftpad
        PYTHONPATH=target {PYTHON} -c 'import leftpad; print(leftpad.pad("ok"))'; rm -rf wheels target''')


@row('W-net-2', 'cargo: a dependency by git over HTTPS')
def cargo(case):
    world = registry_world(case)
    needs(case, '/usr/bin/cargo', 'git')
    repository(case, world)
    tool(case, world, '''
        rm -rf out cargo; mkdir -p out/src; echo 'fn main() {}' > out/src/main.rs; cd out
        printf '[package]\\nname = "app"\\nversion = "1.0.0"\\n[dependencies]\\nleft = { git = "https://%s/git/left.git" }\\n' $NAME > Cargo.toml
        /usr/bin/cargo fetch -q; grep -c '"left"' Cargo.lock; cd ..; rm -rf out cargo''')
