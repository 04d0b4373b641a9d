#include <inttypes.h>
#include <string.h>

#include "core/proxy_url.h"
#include "plan/builtin.h"
#include "plan/plan.h"

static const char *const kind_names[] = {
	[QSB__STEP_ROOT] = "root",   [QSB__STEP_BIND_RO] = "bind-ro",     [QSB__STEP_BIND_RW] = "bind-rw",
	[QSB__STEP_PIN] = "pin",     [QSB__STEP_MASK_FILE] = "mask-file", [QSB__STEP_MASK_DIR] = "mask-dir",
	[QSB__STEP_TMPFS] = "tmpfs", [QSB__STEP_PROC] = "proc",           [QSB__STEP_DEV] = "dev",
	[QSB__STEP_LINK] = "link",   [QSB__STEP_NAME_RULE] = "name-rule", [QSB__STEP_NAME_GRANT] = "name-grant",
};

/* Any byte can stand in a path: one line stays one line, and one field one field. */
static void print_text(const char *text, FILE *to)
{
	fputc('"', to);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\')
			fprintf(to, "\\%c", byte);
		else if (byte < 0x20 || byte == 0x7F)
			fprintf(to, "\\x%02x", byte);
		else
			fputc(byte, to);
	}
	fputc('"', to);
}

static void print_step(const struct qsb__step *step, FILE *to)
{
	fprintf(to, "%s ", kind_names[step->kind]);
	print_text(step->path, to);
	if (step->text) {
		fputc(' ', to);
		print_text(step->text, to);
	}
	if (step->kind == QSB__STEP_NAME_RULE)
		fprintf(to, " denies %s", step->denies & QSB__ACCESS_READ ? "read,write" : "write");
	else if (step->kind == QSB__STEP_BIND_RO || step->kind == QSB__STEP_BIND_RW)
		fprintf(to, step->is_dir ? " folder" : " file");
	if (step->sealed)
		fprintf(to, " sealed");
	if (step->held)
		fprintf(to, step->project ? " held in projects" : " held");
	fprintf(to, "  # %s", step->rule);
	if (step->reason)
		fprintf(to, ": %s", step->reason);
	fputc('\n', to);
}

static void print_texts(const char *name, char *const *texts, FILE *to)
{
	for (; texts && *texts; texts++) {
		fprintf(to, "%s ", name);
		print_text(*texts, to);
		fputc('\n', to);
	}
}

/* A plan is shown to people and kept in logs: a secret that was passed on purpose is named only. */
static void print_environment(char *const *variables, FILE *to)
{
	for (; variables && *variables; variables++) {
		fputs("env ", to);
		if (qsb__is_secret_variable(*variables))
			fprintf(to, "\"%.*s\" (its value is not shown)", (int)strcspn(*variables, "="), *variables);
		else
			print_text(*variables, to);
		fputc('\n', to);
	}
}

static void print_ports(const char *name, const uint16_t *ports, FILE *to)
{
	for (; ports && *ports; ports++)
		fprintf(to, "%s %u\n", name, *ports);
}

static void print_upstream(const struct qsb__plan *plan, FILE *to)
{
	char hidden[QSB__PROXY_URL_MAX + 8];

	if (plan->proxy_port)
		fprintf(to, "proxy-ports http=%u socks=%u\n", plan->proxy_port, plan->socks_port);
	if (!plan->upstream_proxy)
		return;
	qsb__proxy_url_hide(plan->upstream_proxy, hidden, sizeof(hidden));
	fprintf(to, "upstream-proxy ");
	print_text(hidden, to);
	fprintf(to, " resolves=%s\n", plan->upstream_resolves ? "proxy" : "local");
	print_texts("upstream-bypass", plan->upstream_bypass, to);
}

static void print_limits(const struct qsb__plan *plan, FILE *to)
{
	fprintf(to,
		"limits memory=%" PRIu64 " cpus=%" PRIu64 "/1000 timeout=%" PRIu64 "ms processes=%" PRIu64
		" open-files=%" PRIu64 "\n",
		plan->memory_bytes, plan->cpus_milli, plan->timeout_ms, plan->processes, plan->open_files);
	fprintf(to, "limits output=%" PRIu64 " (%s%s) tmp=%" PRIu64 " file=%" PRIu64 " disk-reserve=%" PRIu64 "\n",
		plan->output_bytes, plan->output_action == QSB__OUTPUT_KILL ? "kill" : "truncate",
		plan->output_asked ? ", asked" : "", plan->tmp_bytes, plan->file_bytes, plan->disk_reserve_bytes);
}

void qsb__plan_print(const struct qsb__plan *plan, FILE *to)
{
	static const char *const systems[] = {"linux", "darwin", "windows"};
	static const char *const networks[] = {"off", "filtered", "host"};

	fprintf(to, "os %s\nworkspace ", systems[plan->os]);
	print_text(plan->workspace, to);
	fprintf(to, "\ncwd ");
	print_text(plan->cwd, to);
	fprintf(to, "\ntmp %s\nprotect-names %s\nscan %s\n", plan->tmp_private ? "private" : "host",
		plan->protect_names ? "yes" : "no", plan->scan_complete ? "complete" : "partial");
	fprintf(to, "protect-new-names %s\ngit-findings %s\nreport-denials %s\n",
		plan->protect_new_names ? "yes" : "no",
		plan->git_findings == QSB__FINDINGS_QUARANTINE ? "quarantine" : "report",
		plan->report_denials ? "yes" : "no");
	for (size_t i = 0; i < plan->step_count; i++)
		print_step(&plan->steps[i], to);
	for (size_t i = 0; i < plan->gap_count; i++)
		fprintf(to, "gap%s \"%s\"  # %s\n", plan->gaps[i].asked ? " asked" : "", plan->gaps[i].what,
			plan->gaps[i].rule);
	print_texts("note", plan->notes, to);
	fprintf(to, "network %s\n", networks[plan->network]);
	print_texts("allow-domain", plan->allowed_domains, to);
	print_texts("deny-domain", plan->denied_domains, to);
	print_ports("publish", plan->publish_ports, to);
	print_ports("reach", plan->reach_ports, to);
	print_texts("unix-socket", plan->unix_sockets, to);
	print_upstream(plan, to);
	print_limits(plan, to);
	print_environment(plan->environment, to);
	print_texts("scrubbed", plan->scrubbed, to);
	if (plan->allow_nested_sandbox)
		fprintf(to, "allow-nested-sandbox\n");
	if (plan->allow_unsandboxed)
		fprintf(to, "allow-unsandboxed\n");
}
