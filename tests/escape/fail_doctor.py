"""doctor on hosts that lack a mechanism: it must say of a run what a run then does."""
import json
import os
import shutil

from fail_mechanisms import HOSTS
from harness import row


@row('A-fail-1', 'on hosts that lack a mechanism doctor says what a run does, and why not')
def doctor_agrees(case):
    tool = shutil.copy(case.attack, os.path.join(case.base, 'without'))
    refused = 0
    for name, rules in (('nothing missing', ['38:9999']), *HOSTS):
        before = [tool, 'without', *rules, '--']
        case.control(case.plain([*before, 'true']).code in (0, 1), f'{name}: such a host cannot be made here')
        run = case.plain([*before, *case.sandboxed(['true'])])
        doctor = case.plain([*before, case.program, 'doctor', '--json'])
        case.check(doctor.code in (0, 125), f'{name}: doctor ends with {doctor.code}', doctor)
        report = json.loads(doctor.out)
        case.same((doctor.code, report['usable']), (run.code, run.code == 0), f'{name}: doctor and run', run)
        if run.code == 0:
            continue
        refused += 1
        # A run says it with more words around it.
        case.check(report['cause'] and report['cause'] in run.err, f'{name}: the cause: {report["cause"]}', run)
        case.check(len(report['cause']) > 20, f'{name}: a cause that explains: {report["cause"]}', doctor)
    case.check(0 < refused < len(HOSTS), 'some of these hosts can run a sandbox, others cannot')


@row('A-fail-1', 'no mounts in a user namespace, as AppArmor has it: the cause and a fix are named')
def no_mounts(case):
    tool = shutil.copy(case.attack, os.path.join(case.base, 'without'))
    rules = next(rules for name, rules in HOSTS if 'AppArmor' in name)
    doctor = case.plain([tool, 'without', *rules, '--', case.program, 'doctor', '--json'])
    report = json.loads(doctor.out)
    facts = {fact['name']: fact for fact in report['backends'][0]['facts']}
    case.check(facts['user namespaces']['ok'], 'user namespaces can be made', doctor)
    case.check(not facts['mounts in namespaces']['ok'] and facts['mounts in namespaces']['fix'], 'mounts cannot', doctor)
    case.check('fix' in report['cause'], 'the fix is named', doctor)
