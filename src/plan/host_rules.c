#include "plan/host_rules.h"

#include <stdlib.h>
#include <string.h>

#include "core/domain.h"

/* ---- made once ---- */

static int compare_number(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_name(const struct qsb__name_pattern *a, const struct qsb__name_pattern *b)
{
	int order = memcmp(a->key, b->key, a->length < b->length ? a->length : b->length);

	return order ? order : compare_number(a->length, b->length);
}

static int order_names(const void *left, const void *right)
{
	const struct qsb__name_pattern *a = left, *b = right;
	int order = compare_name(a, b);

	return order ? order : compare_number(a->port, b->port);
}

static int order_in_group(const struct qsb__range_pattern *a, const struct qsb__range_pattern *b)
{
	int order = memcmp(a->start.bytes, b->start.bytes, sizeof(a->start.bytes));

	return order ? order : compare_number(a->port, b->port);
}

static int order_ranges(const void *left, const void *right)
{
	const struct qsb__range_pattern *a = left, *b = right;

	if (a->start.family != b->start.family)
		return a->start.family - b->start.family;
	return a->bits != b->bits ? compare_number(b->bits, a->bits) : order_in_group(a, b);
}

static enum qsb__address_class class_of_range(const struct qsb__range_pattern *range)
{
	struct qsb__address last = range->start;
	enum qsb__address_class class = qsb__address_class(&range->start);

	for (unsigned bit = range->bits; bit < (last.family == 4 ? 32U : 128U); bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80U >> bit % 8);
	return qsb__address_class(&last) == class ? class : QSB__ADDRESS_PUBLIC;
}

static bool read_range(const char *text, struct qsb__range_pattern *out)
{
	size_t length = qsb__domain_split(text, &out->port);
	const char *start = text, *slash;

	if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
		start++;
		length -= 2;
	}
	slash = memchr(start, '/', length);
	if (!qsb__address_parse(start, slash ? (size_t)(slash - start) : length, &out->start))
		return false;
	out->bits = slash ? (unsigned)strtoul(slash + 1, NULL, 10) : out->start.family == 4 ? 32U : 128U;
	out->class = class_of_range(out);
	out->text = text;
	return true;
}

static void read_name(const char *text, struct qsb__name_pattern *out)
{
	size_t length = qsb__domain_split(text, &out->port);
	size_t skipped = text[0] == '*' && length > 1 ? 1 : 0;

	out->key = text + skipped;
	out->length = (unsigned)(length - skipped);
	out->text = text;
}

static void make_groups(struct qsb__host_rules *rules)
{
	struct qsb__range_group *group = NULL;

	for (size_t i = 0; i < rules->range_count; i++) {
		const struct qsb__range_pattern *range = &rules->ranges[i];

		if (!group || group->family != range->start.family || group->bits != range->bits) {
			group = &rules->groups[rules->group_count++];
			*group = (struct qsb__range_group){range->start.family, range->bits, i, 0};
		}
		group->count++;
	}
}

bool qsb__host_rules_init(struct qsb__host_rules *rules, char *const *patterns)
{
	size_t count = 0;

	memset(rules, 0, sizeof(*rules));
	while (patterns && patterns[count])
		count++;
	rules->names = calloc(count + 1, sizeof(*rules->names));
	rules->ranges = calloc(count + 1, sizeof(*rules->ranges));
	if (!rules->names || !rules->ranges)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (read_range(patterns[i], &rules->ranges[rules->range_count]))
			rules->range_count++;
		else
			read_name(patterns[i], &rules->names[rules->name_count++]);
	}
	qsort(rules->names, rules->name_count, sizeof(*rules->names), order_names);
	qsort(rules->ranges, rules->range_count, sizeof(*rules->ranges), order_ranges);
	make_groups(rules);
	return true;
}

void qsb__host_rules_clear(struct qsb__host_rules *rules)
{
	free(rules->names);
	free(rules->ranges);
	memset(rules, 0, sizeof(*rules));
}

/* ---- asked often ---- */

/* A name, what it is a subdomain of (nearest first), and "*": the keys under which it is looked up. */
struct keys {
	const char *at;
	bool over;
};

static bool next_key(struct keys *keys, struct qsb__name_pattern *key)
{
	static const char star[] = "*";

	if (keys->over)
		return false;
	if (keys->at) {
		key->key = keys->at;
		key->length = (unsigned)strlen(keys->at);
		keys->at = strchr(keys->at + 1, '.');
	} else {
		key->key = star;
		key->length = 1;
		keys->over = true;
	}
	return true;
}

/* The first one that is not before `key`. */
static size_t find_name(const struct qsb__host_rules *rules, const struct qsb__name_pattern *key)
{
	size_t low = 0, high = rules->name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order_names(&rules->names[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const char *match_key(const struct qsb__host_rules *rules, struct qsb__name_pattern key, unsigned port)
{
	const unsigned ports[] = {port, 0};

	for (size_t i = port ? 0 : 1; i < 2; i++) {
		size_t at;

		key.port = ports[i];
		at = find_name(rules, &key);
		if (at < rules->name_count && order_names(&rules->names[at], &key) == 0)
			return rules->names[at].text;
	}
	return NULL;
}

const char *qsb__host_rules_name(const struct qsb__host_rules *rules, const char *name, unsigned port)
{
	struct keys keys = {.at = name};
	struct qsb__name_pattern key = {0};

	while (next_key(&keys, &key)) {
		const char *text = match_key(rules, key, port);

		if (text)
			return text;
	}
	return NULL;
}

const char *qsb__host_rules_star(const struct qsb__host_rules *rules, unsigned port)
{
	static const char star[] = "*";

	return match_key(rules, (struct qsb__name_pattern){.key = star, .length = 1}, port);
}

void qsb__host_rules_each_port(const struct qsb__host_rules *rules, const char *name,
			       bool (*found)(void *context, const char *pattern, unsigned port), void *context)
{
	struct keys keys = {.at = name};
	struct qsb__name_pattern key = {0};

	while (next_key(&keys, &key))
		for (size_t i = find_name(rules, &key);
		     i < rules->name_count && compare_name(&rules->names[i], &key) == 0; i++)
			if (found(context, rules->names[i].text, rules->names[i].port))
				return;
}

static bool is_named(void *context, const char *pattern, unsigned port)
{
	*(bool *)context = pattern[0] != '*' || pattern[1] == '.';
	return *(bool *)context;
}

bool qsb__host_rules_knows_name(const struct qsb__host_rules *rules, const char *name)
{
	bool known = false;

	qsb__host_rules_each_port(rules, name, is_named, &known);
	return known;
}

static const struct qsb__range_pattern *match_group(const struct qsb__host_rules *rules,
						    const struct qsb__range_group *group,
						    const struct qsb__address *address, unsigned port)
{
	struct qsb__range_pattern key = {.start = *address, .port = port};
	size_t low = group->first, high = low + group->count;

	qsb__address_mask(&key.start, group->bits);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order_in_group(&rules->ranges[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < group->first + group->count && order_in_group(&rules->ranges[low], &key) == 0 ? &rules->ranges[low]
												   : NULL;
}

static bool is_meant(const struct qsb__range_pattern *range, enum qsb__address_class class)
{
	if (class <= QSB__ADDRESS_PRIVATE)
		return true;
	if (class == QSB__ADDRESS_METADATA)
		return range->bits == (range->start.family == 4 ? 32 : 128);
	return range->class == class;
}

const char *qsb__host_rules_address(const struct qsb__host_rules *rules, const struct qsb__address *address,
				    unsigned port, bool meant)
{
	enum qsb__address_class class = meant && rules->group_count ? qsb__address_class(address) : QSB__ADDRESS_PUBLIC;

	for (size_t i = 0; i < rules->group_count; i++) {
		const struct qsb__range_group *group = &rules->groups[i];
		const struct qsb__range_pattern *range;

		if (group->family != address->family)
			continue;
		range = match_group(rules, group, address, port);
		if (!range && port)
			range = match_group(rules, group, address, 0);
		if (range && is_meant(range, class))
			return range->text;
	}
	return NULL;
}
