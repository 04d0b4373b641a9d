"""Prints what was measured, and how far it is from the targets."""

# key, measure, unit, at least, aim
TARGETS = [
    ('cold', 'cold start of `true`, against bubblewrap', 'x', 0.7, 0.45),
    ('rules', 'the same with 10,000 deny rules, against 10', 'x', 1.5, 1.1),
    ('matches', 'the same with 10,000 deny matches, against 10', 'x', 1.5, 1.1),
    ('build', 'a C build, inside against outside', 'x', 1.03, 1.00),
    ('guard build', 'a C build with the live guard, against without: processor time', 'x', 1.03, 1.01),
    ('guard files', '20,000 files made and removed with it, against without', 'x', 3.5, 2.5),
    ('guard npm', '`npm install` of 500 packages with it, against without', 'x', 1.05, 1.02),
    ('guard git', '`git status` in 50,000 files with it, against without', 'x', 1.03, 1.00),
    ('guard start', 'added to a cold start by it', 'ms', 0.25, 0.1),
    ('resident', 'memory of all our processes, resident', 'MB', 3, 1.5),
    ('private', 'memory of all our processes, private', 'MB', 3, 1.5),
    ('network data', '500 MB through the filter by name, against direct', 'x', 0.45, 0.6),
    ('network srt', "the same, against srt's proxy", 'x', 3, 6),
    ('network connect', 'connect and first byte through the filter, against direct', 'x', 4, 2.3),
    ('network start', 'added to a cold start by a filtered network', 'ms', 1.0, 0.4),
    ('network crowd', 'the broker with 2,000 connections open, and after 10,000 more', 'MB', 40, 15),
    ('node blocked', 'Node: thread blocked by a start at 1.5 GB, against spawn', 'x', 0.02, 0.002),
    ('node total', 'Node: added to the program by itself', 'ms', 0.6, 0.2),
    ('node stream', 'Node: throughput of 1 GiB of output, against spawn', 'x', 0.7, 1.0),
    ('node drift', 'Node: a timer of 5 ms while 64 commands run: late by', 'ms', 5, 2),
    ('node growth', 'Node: memory grown by 10,000 commands', 'MB', 3, 1),
    ('node things', 'Node: descriptors, threads, processes left by them', '', 0, 0),
    ('reap', 'timeout with 500 processes that ignore SIGTERM: all dead after', 's', 0.2, 0.05),
]


def digits_of(unit, least):
    return 4 if 0 < least < 0.1 else 3 if unit == 's' else 2


def targets(reached):
    """[{measure, value, unit, atLeast, aim, verdict}]"""
    rows = []
    for key, measure, unit, least, aim in TARGETS:
        if key in reached:
            value = reached[key]
            # Judged as it is printed: 1.001 times is 1.00 times.
            shown = round(value, digits_of(unit, least))
            # Where the aim is the larger one, more is better.
            sign = -1 if aim > least else 1
            verdict = ('aim reached' if shown * sign <= aim * sign else
                       'reached' if shown * sign <= least * sign else 'MISSED')
        else:
            value, verdict = None, 'not measured'
        rows.append({'key': key, 'measure': measure, 'value': value, 'unit': unit, 'atLeast': least, 'aim': aim,
                     'verdict': verdict})
    return rows


def show_head(everything):
    where = everything['machine']
    print(f'{everything["version"]} on {where["system"]}, Linux {where["kernel"]}, {where["processors"]} x '
          f'{where["processor"]}')
    for name, reason in everything['absent'].items():
        print(f'not measured: {name} {reason}')


def ratio_text(ratios):
    return '  '.join(f'{ratio:.{3 if ratio < 0.1 else 2}f} x {name}' for name, ratio in ratios.items())


def show_section(section):
    print(f'\n{section["title"]}')
    if 'broken' in section:
        print(f'  not measured: {section["broken"]}')
        return
    timed = any('medianUs' in row for row in section['rows'])
    if timed:
        print(f'  {"ms":<34}{"p10":>9}{"median":>9}{"p90":>9}')
    for row in section['rows']:
        line = f'  {row["name"]:<34}'
        if 'medianUs' in row:
            line += ''.join(f'{row[key] / 1000:9.2f}' for key in ('p10Us', 'medianUs', 'p90Us'))
        elif 'value' in row:
            digits = 0 if row['unit'].endswith('/s') else 2
            line += f'{row["value"]:9,.{digits}f} {row["unit"]}'
        rest = [text for text in (ratio_text(row.get('ratios', {})), row.get('note', '')) if text]
        print((line + '  ' + '; '.join(rest)).rstrip(), flush=True)


def show_targets(rows):
    print(f'\n{"Targets":<66}{"measured":>10}{"at least":>10}{"aim":>8}')
    for row in rows:
        digits = digits_of(row['unit'], row['atLeast'])
        value = '-' if row['value'] is None else f'{row["value"]:.{digits}f} {row["unit"]}'
        print(f'  {row["measure"]:<64}{value:>10}{row["atLeast"]:>10}{row["aim"]:>8}  {row["verdict"]}')
