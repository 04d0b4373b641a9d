"""What is swapped while a call is under way: the guard acts on its own copy, or refuses."""
import os
import shutil

from harness import row

SECONDS = 1 if 'QSB_SANITIZED' in os.environ else 6  # of each of the races: half a minute and more altogether
RULES = ['--deny-write', 'hold/**', '--deny-write', '**/.conf/rc']


def race(case, group):
    """Won outside, with a denied name there at least once; never inside, though every part of it ran."""
    def begin():
        case.clear_work()
        for name in ('free', 'hold/secret', 'sub') + (() if group == 'new' else ('.git',)):
            os.makedirs(os.path.join(case.work, name))
        case.write('plain', 'plain')
    for _ in range(3):
        begin()
        outside = case.plain([case.attack, 'guard-race', group, '1'])
        if outside.code == 0:
            break
    case.control(outside.code == 0, f'the race is not won outside: {outside.describe()}')
    begin()
    inside = case.inside([case.attack, 'guard-race', group, str(SECONDS)], RULES)
    case.refused(inside)
    case.same(os.listdir(os.path.join(case.work, 'hold/secret')), [], 'the denied folder', inside)
    for name in ('.mcp.json', '.git/hooks/x' if group == 'new' else '.git/hooks', 'sub/.conf/rc'):
        case.check(not os.path.lexists(os.path.join(case.work, name)), f'{name} is there', inside)
    shutil.rmtree(os.path.join(case.work, 'free'))


@row('A-guard-2', 'threads that swap path, descriptor, link and folder during a call never get through')
def race_names(case):
    race(case, 'names')


@row('A-guard-2', 'threads that swap the path for that of git\'s hooks never get through, by any call that makes a name')
def race_hooks(case):
    race(case, 'hooks')


@row('A-guard-2', 'nor do they put a hook into a repository that the run itself made')
def race_new_hooks(case):
    race(case, 'new')


@row('A-guard-2', 'threads that swap one letter for the name of a tool\'s settings never get through')
def race_tools(case):
    race(case, 'tools')


@row('A-guard-2', 'processes that share memory, and children that borrow it, never get through by swapping the path')
def race_processes(case):
    race(case, 'processes')


@row('A-guard-2', 'a path across two pages, of which one is mapped anew, moved and unmapped, never gets through')
def race_pages(case):
    race(case, 'pages')


# Each half does only what is allowed; together they bring a denied name about.
FILL = '''
import os, sys, time
end = time.time() + float(sys.argv[1])
done = met = 0
while time.time() < end:
    for call in ('os.rename("full", "d/workflows"); done += 1', 'os.rename("d/workflows", "full")',
                 'os.mkdir("d/actions"); done += 1', 'os.rmdir("d/actions")',
                 'open("d/workflows", "x").close(); done += 1', 'os.unlink("d/workflows")',
                 'os.symlink("full", "d/workflows"); done += 1', 'os.unlink("d/workflows")',
                 'os.link("plain", "d/workflows"); done += 1', 'os.unlink("d/workflows")'):
        try: exec(call)
        except OSError: pass
        met += os.path.lexists('.github/workflows')
print(done, met)
'''
MOVE = '''
import os, sys, time
end = time.time() + float(sys.argv[1])
done = 0
while time.time() < end:
    for names in (('d', '.github'), ('.github', 'd')):
        try: os.rename(*names); done += 1
        except OSError: pass
print(done)
'''


@row('A-guard-2', 'two sandboxes in one workspace do not bring a denied name about together')
def race_two_sandboxes(case):
    def together(runs):
        case.clear_work()
        case.write('full/x.yml', 'on: push')
        case.write('plain', 'plain')
        os.mkdir(os.path.join(case.work, 'd'))
        return [case.finish(process) for process in [case.popen(argv, cwd=case.work) for argv in runs]]

    def argv(seconds):
        return [['python3', '-c', text, str(seconds)] for text in (FILL, MOVE)]

    def left():
        return [name for name in ('workflows', 'actions') if os.path.lexists(os.path.join(case.work, '.github', name))]
    for _ in range(20):
        met = together(argv(0.3))[0].out.split()[1]
        if met != '0':
            break
    case.control(met != '0', 'the two never meet outside')
    outcomes = together([case.sandboxed(run) for run in argv(SECONDS)])
    for outcome in outcomes:
        case.check(outcome.code == 0 and int(outcome.out.split()[0]) > 5, 'both must do something', outcome)
    case.same(left(), [], 'what stands at denied names', outcomes[0])
