"""run --learn: what was learned from a command is enough for the same command, and little more."""
import json
import os
import shutil

from harness import row
from harness_world import World, filtered, needs
from learn_attacks import learn, read, write_access
from net_packages import GOOD, registry_world


def round_trip(case, text, options=(), entries=None, clean=(), fails=True):
    """Learns from shell text, then runs it again with what was learned and nothing else. Without it, it must fail."""
    def tidy():
        for name in clean:
            shutil.rmtree(os.path.join(case.home, name), ignore_errors=True)
    if fails:
        bare = case.inside(['sh', '-ec', text], options)
        case.check(bare.code not in (0, 125), 'without learning it must fail', bare)
    tidy()
    path = os.path.join(case.outside, 'learned.json')
    first = case.inside(['sh', '-ec', text], ['--learn', path, *options])
    case.same(first.code, 0, 'it works while learning', first)
    policy = json.loads(read(path))
    checked = case.plain([case.program, 'policy', 'check', path])
    case.same(checked.code, 0, 'what was learned is a policy', checked)
    if entries is not None:
        case.same(sorted(write_access(policy)), sorted(['.', *entries]), 'what may be written')
    again = case.inside(['sh', '-ec', text], ['--policy', path])
    case.same((again.code, again.out), (0, first.out), f'with {policy} it works again', again)
    more = case.inside(['sh', '-ec', text], ['--policy', path, '--learn', path + '.again'])
    case.same(more.code, 0, 'it can be learned from again', more)
    case.check('sufficed as it is' in more.err, 'the second time there is nothing to learn', more)
    return policy


@row('W-learn-1', 'a cache of 5,000 files is one entry')
def cache(case):
    policy = round_trip(case, '''
        mkdir -p ~/.cache/tool/a/b
        i=0; while [ $i -lt 5000 ]; do : >~/.cache/tool/a/b/$i; i=$((i+1)); done
        mv ~/.cache/tool/a/b/1 ~/.cache/tool/a/one; rm ~/.cache/tool/a/b/2; echo done''', entries=['~/.cache/tool'], clean=['.cache'])
    case.check(any(remark.startswith('/filesystem/allowWrite/1: ~/.cache/tool: ') and 'sh' in remark and 'changes' in remark
                   for remark in policy['$comment']), f'the entry has its remark: {policy["$comment"]}')


@row('W-learn-2', 'npm installs a package from a registry, with the cache in its usual place')
def npm(case):
    world = registry_world(case)
    needs(case, 'npm')
    del case.env['npm_config_cache']
    case.write('app/package.json', '{"name": "app", "version": "1.0.0"}')
    text = f'''
        rm -rf out; cp -r app out; cd out
        npm install --registry https://{GOOD}/npm/ --no-audit --no-fund --silent left; node -p 'require("left")("ok")' '''
    case.control(case.plain(['sh', '-ec', text]).code == 0, 'npm works outside')
    shutil.rmtree(os.path.join(case.home, '.npm'), ignore_errors=True)
    policy = round_trip(case, text, entries=['~/.npm'])
    case.same((policy['network']['mode'], policy['network']['allowedDomains']), ('filtered', [GOOD]), 'what may be reached')
    case.check(world.sites_of[GOOD].got, 'the registry was asked')


@row('W-learn-3', 'a script that touches three places: a file, a folder that it makes, and a file that is replaced')
def three_places(case):
    case.write(os.path.join(case.home, 'project/notes.txt'), 'old\n')
    case.write(os.path.join(case.home, 'project/other.txt'), 'other')
    case.write(os.path.join(case.home, '.tool/settings.json'), '{}')
    policy = round_trip(case, '''
        echo more >>~/project/notes.txt
        mkdir -p ~/made/here; echo a >~/made/here/a; rm -r ~/made/here
        echo "{}" >~/.tool/settings.json.tmp1; mv ~/.tool/settings.json.tmp1 ~/.tool/settings.json
        echo own >own; echo null >/dev/null; echo tmp >/tmp/x; cat ~/project/notes.txt | tail -1''',
                        entries=['~/project/notes.txt', '~/made', '~/.tool'], clean=['made'])
    case.check('network' not in policy, f'nothing of the network is said: {policy}')
    outcome = case.inside(['sh', '-c', 'echo x >~/project/other.txt'], ['--policy', os.path.join(case.outside, 'learned.json')])
    case.check(outcome.code != 0 and read(os.path.join(case.home, 'project/other.txt')) == 'other', 'the file beside it stays shut')


@row('W-learn-4', 'two hosts that a command reaches, by name and with an unusual port, and no other')
def hosts(case):
    world = World(case)
    needs(case, 'curl')
    sites = {}
    for number, name in ((10, 'one.example.com'), (20, 'two.example.org'), (30, 'three.example.net')):
        sites[name] = world.web(f'203.0.113.{number}', http=8080 if number == 20 else 80)
        world.name(name, f'203.0.113.{number}')
    text = 'curl -sf http://one.example.com/ && curl -sf http://two.example.org:8080/'
    case.control(case.plain(['sh', '-ec', text]).code == 0, 'both are reached outside')
    policy = round_trip(case, text)
    case.same((policy['network']['mode'], sorted(policy['network']['allowedDomains'])),
              ('filtered', ['one.example.com', 'two.example.org:8080']), 'what may be reached')
    case.check('filesystem' not in policy, f'nothing of files is said: {policy}')
    third = case.inside(['curl', '-sf', 'http://three.example.net/'], ['--policy', os.path.join(case.outside, 'learned.json')])
    case.check(third.code != 0 and not sites['three.example.net'].got, 'another name stays out of reach', third)
    more = learn(case, 'curl -sf http://three.example.net/; true', filtered('one.example.com'), 'more.json')[1]
    case.same(more['network']['allowedDomains'], ['one.example.com', 'three.example.net'], 'a list that was given is added to')


@row('W-learn-5', 'a policy that reads little: files, folders and programs that a command reads')
def reading(case):
    for number in range(6):
        case.write(os.path.join(case.home, f'data/part{number}'), f'{number}')
    case.write(os.path.join(case.home, 'etc/one.conf'), 'one')
    case.write(os.path.join(case.home, 'etc/two.conf'), 'two')
    case.write(os.path.join(case.home, 'unused/file'), 'unused')
    for name in ('real/v1/lib/text', 'real/v2/far'):
        case.write(os.path.join(case.home, name), name)
    os.symlink('v1', os.path.join(case.home, 'real/current'))
    os.symlink(os.path.join(case.home, 'real/v2/far'), os.path.join(case.home, 'near'))
    tool = os.path.join(case.home, 'tools/tool')
    os.makedirs(os.path.dirname(tool))
    shutil.copy('/bin/cat', tool)
    home = case.home
    policy = round_trip(case, f'cat {home}/data/*; {tool} {home}/etc/one.conf; '
                              f'cat ~/real/current/lib/text ~/near; cd ~/real/current/lib; cat ./text; echo own >~/work/own', ['--preset', 'locked-down'])
    case.same(policy['extends'], 'locked-down', 'the preset is kept')
    case.same(sorted(policy['filesystem']['allowRead']), ['.', '@system', '~/data', '~/etc/one.conf', '~/near', '~/real/current/lib/text',
                                                           '~/real/v1/lib/text', '~/real/v2/far', '~/tools/tool'],
              'what may be read')


@row('W-learn-8', 'git clones a repository into a folder outside the workspace, and commits there')
def clone(case):
    needs(case, 'git')
    made = case.plain(['sh', '-ec', 'git init -q -b main seed; cd seed; git config user.name T; git config user.email t@example.com; '
                                    'echo text >file; git add .; git commit -qm first'])
    case.control(made.code == 0, f'git works outside: {made.describe()}')
    policy = round_trip(case, '''
        mkdir -p ~/repos; cd ~/repos; name=copy$(ls | wc -l); git clone -q ~/work/seed $name; cd $name
        echo more >>file; git -c user.name=T -c user.email=t@example.com commit -qam more; git log --oneline | wc -l''',
                        entries=['~/repos'])
    case.check(not any('not ' in remark for remark in policy['$comment']), f'nothing is left out: {policy["$comment"]}')


@row('W-learn-6', 'a command that fails, or is killed, has its policy written with what was seen')
def failing(case):
    for name, text, code, words in (('fails', 'echo x >~/a; exit 3', 3, 'exit status 3'),
                                    ('dies', 'echo x >~/a; kill -9 $$', 137, 'signal 9'),
                                    ('late', 'echo x >~/a; sleep 30', 124, 'later is missing')):
        outcome, policy = learn(case, text, ['--timeout', '1.5'], name + '.json')
        case.same(outcome.code, code, name, outcome)
        case.same(write_access(policy), ['.', '~/a'], f'{name}: what was seen is learned')
        case.check(words in policy['$comment'][0], f'{name}: it says so: {policy["$comment"]}')
        case.check('did not succeed' in outcome.err, f'{name}: a person is told', outcome)
        if name == 'late':
            case.check(any('timeout' in remark and '3' in remark for remark in policy['$comment'][1:]),
                       f'the limit is suggested: {policy["$comment"]}')
            case.same(policy['limits'], {'timeout': 1.5}, 'and stays as it is')


@row('W-learn-7', 'what was given is kept, and the result says where the policy is')
def kept(case):
    given = {'extends': 'read-only', '$comment': ['why'], 'limits': {'memory': '512m'}, 'environment': {'set': {'A': 'b c'}},
             'filesystem': {'allowWrite': ['out'], 'denyWrite': ['~/never']}, 'network': {'reachPorts': [8080]}}
    os.mkdir(os.path.join(case.work, 'out'))
    case.write('sub/file', 'old')
    path = os.path.join(case.outside, 'l.json')
    result = case.result(['sh', '-c', 'echo x >out/y; echo z >sub/file; echo $A'], [*case.policy(given), '--learn', path])
    case.same(result['learned'], {'file': path, 'entries': 1}, 'the result tells of it')
    case.same(result['stdout'], 'b c\n', 'the policy holds')
    policy = json.loads(read(path))
    remarks = policy.pop('$comment')
    case.check('why' in remarks, f'remarks are kept: {remarks}')
    case.same(policy, {'version': 1, 'extends': 'read-only', 'limits': {'memory': '512m'}, 'environment': {'set': {'A': 'b c'}},
                       'filesystem': {'allowWrite': ['out', './sub/file'], 'denyWrite': ['~/never']},
                       'network': {'reachPorts': [8080]}}, 'all of it is kept, and one entry added')
