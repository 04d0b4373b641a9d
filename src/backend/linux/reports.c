/* Which refusals of a run are told. */
#include <string.h>
#include <unistd.h>

#include "backend/linux/sandbox.h"

static const char *reports_reads(const struct qsb__sandbox *sandbox)
{
	if (!sandbox)
		return access("/dev/fuse", R_OK | W_OK) == 0 ? "yes" : "no";
	if (sandbox->mounts.masks.count > 0 && (!sandbox->mask_server || sandbox->mask_step != QSB__MASK_STEP_NONE))
		return "no";
	/* Masked folders with something allowed inside are plain ones. */
	return sandbox->mounts.plain_masks == 0 ? "yes" : sandbox->mounts.masks.count > 0 ? "some" : "no";
}

/* Refused files are told by the guard, refused calls by the filter, reads of what is masked by the masks. */
const char *qsb__reports(const struct qsb__plan *plan, const struct qsb__sandbox *sandbox, const char *what)
{
	if (strcmp(what, "calls") == 0)
		return "yes";
	if (!plan->report_denials)
		return "not asked";
	if (strcmp(what, "files") == 0)
		return (sandbox ? sandbox->guard != NULL : qsb__guard_reports(plan)) ? "yes" : "no";
	return strcmp(what, "secretReads") == 0 ? reports_reads(sandbox) : "no";
}
