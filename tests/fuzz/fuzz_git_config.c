/* Settings of git, as a command in the sandbox may write them. */
#include "guard/git_config.h"

#include "expect.h"

struct seen {
	size_t count;
	bool harmless;
};

static int look(void *context, const struct qsb__git_setting *setting)
{
	struct seen *seen = context;
	const char *key = strrchr(setting->name, '.');

	seen->count++;
	expect(strlen(setting->name) < QSB__GIT_NAME_MAX && key && key > setting->name - 1);
	for (const char *at = key + 1; *at; at++)
		expect((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '-');
	if (qsb__git_setting_reason(setting, "/w/.git/modules/x"))
		seen->harmless = false;
	return 0;
}

static void expect_plain(const char *keys)
{
	for (; *keys; keys++)
		expect((unsigned char)*keys >= ' ' && *keys != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)exact_copy(data, size), keys[160];
	struct seen seen = {.harmless = true};
	struct qsb__git_verdict verdict;
	unsigned line = 0;
	int code = qsb__git_config_read(text, size, look, &seen, &line);

	expect(code == 0 || code == -1);
	expect(line >= 1 && line <= size + 2 && seen.count <= size);
	qsb__git_config_judge(text, size, "/w/.git/modules/x", &verdict);
	expect(verdict.harmless == (code == 0 && seen.harmless));
	expect(verdict.harmless == (verdict.keys[0] == '\0') && verdict.harmless == (verdict.reason[0] == '\0'));
	expect_plain(verdict.keys);
	qsb__git_config_difference(&(struct qsb__git_text){text, size}, &(struct qsb__git_text){text, size}, keys,
				   sizeof(keys));
	expect(keys[0] == '\0');
	qsb__git_config_difference(&(struct qsb__git_text){text, size / 2},
				   &(struct qsb__git_text){text + size / 2, size - size / 2}, keys, sizeof(keys));
	expect_plain(keys);
	free(text);
	return 0;
}
