#include "cli/backend.h"

#include <string.h>

#include "cli/options.h"
#include "core/error.h"

enum { MOST_BACKENDS = 8 };

static int fail_probe(const struct qsb__backend *backend, const struct qsb__probe *probe, struct qsb_error *err)
{
	for (size_t i = 0; i < probe->count; i++) {
		const struct qsb__probe_row *row = &probe->rows[i];

		if (row->ok || !row->needed)
			continue;
		return qsb__fail(err, QSB_E_UNSUPPORTED, backend->name, "this host cannot run a sandbox: %s: %s%s%s",
				 row->name, row->detail, row->fix[0] ? "; to fix it: " : "", row->fix);
	}
	return qsb__fail(err, QSB_E_UNSUPPORTED, backend->name,
			 "the back end %s cannot be used on this host; `qiming-sandbox doctor` says why",
			 backend->name);
}

static int try_backend(const struct qsb__backend *backend, const struct qsb__plan *plan, bool last,
		       struct qsb_error *err)
{
	struct qsb__probe probe = {.usable = true};

	/* Looking at the host costs as much as starting a sandbox. Where no other back end could follow it is left out:
	 * the start itself then fails, and qsb__backend_explain_failure looks for the cause. */
	if (!last) {
		probe.usable = false;
		backend->probe(&probe);
	}
	return probe.usable ? backend->check(plan, err) : fail_probe(backend, &probe, err);
}

static int choose_named(const struct qsb__backend **out, const char *name, const struct qsb__plan *plan,
			struct qsb_error *err)
{
	const char *names[MOST_BACKENDS];
	size_t count = 0;

	for (size_t i = 0; qsb__backends[i] && count < MOST_BACKENDS; i++) {
		if (strcmp(qsb__backends[i]->name, name) == 0) {
			*out = qsb__backends[i];
			return try_backend(*out, plan, true, err);
		}
		names[count++] = qsb__backends[i]->name;
	}
	return qsb__fail_unknown(err, "back end", name, names, count);
}

int qsb__backend_choose(const struct qsb__backend **out, const char *name, const struct qsb__plan *plan,
			struct qsb_error *err)
{
	struct qsb_error first = {.code = 0}, next;

	if (name)
		return choose_named(out, name, plan, err);
	for (size_t i = 0; qsb__backends[i]; i++) {
		if (try_backend(qsb__backends[i], plan, !qsb__backends[i + 1], &next) == 0) {
			*out = qsb__backends[i];
			return 0;
		}
		if (first.code == 0)
			first = next;
	}
	if (first.code == 0)
		return qsb__fail(err, QSB_E_UNSUPPORTED, "back end", "this build has no back end for this system");
	*err = first;
	return err->code;
}

void qsb__backend_explain_failure(const struct qsb__backend *backend, struct qsb_error *err)
{
	struct qsb__probe probe = {.usable = false};

	backend->probe(&probe);
	if (!probe.usable)
		fail_probe(backend, &probe, err);
}
