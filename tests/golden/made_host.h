/* A made-up machine for the plan: its facts and its tree of files come from JSON. */
#ifndef QSB_TESTS_MADE_HOST_H
#define QSB_TESTS_MADE_HOST_H

#include <jansson.h>

#include "plan/host.h"

/*
 * {"os": "linux", "home": …, "cwd": …, "user": …, "runtimeDir": …, "program": …, "caseInsensitive": false,
 *  "environment": ["NAME=VALUE", …],
 *  "tree": {"/a/folder/": "", "/a/file": "its text", "/a/link": {"link": "target"}, "/a/socket": {"socket": true},
 *           "/many/%d.pem": {"count": 10000}}}
 * Folders on the way to an entry need not be named. The strings belong to `json`, which must outlive the host.
 * false = the JSON is not of this form; a sentence goes to stderr.
 */
bool made_host_init(struct qsb__host *host, const json_t *json);
void made_host_clear(struct qsb__host *host);

/* How often the plan asked: kind, resolve, list and read together. */
size_t made_host_questions(const struct qsb__host *host);

#endif
