/* The lists that the product brings with it, each entry with its reason. */
#ifndef QSB_PLAN_BUILTIN_H
#define QSB_PLAN_BUILTIN_H

#include <stdbool.h>
#include <stddef.h>

enum {
	QSB__ON_LINUX = 1U << 0,
	QSB__ON_DARWIN = 1U << 1,
	QSB__ON_WINDOWS = 1U << 2,
	QSB__ON_UNIX = QSB__ON_LINUX | QSB__ON_DARWIN,
	QSB__ON_ALL = QSB__ON_UNIX | QSB__ON_WINDOWS
};

/*
 * "@secrets" and "@system". `path` starts with "~/" or a root, and its last component may hold wildcards. Entries of
 * one folder stand together, so that a folder that is missing is looked for once.
 */
struct qsb__builtin_path {
	const char *path;
	unsigned on;
	const char *reason;
};
extern const struct qsb__builtin_path qsb__secret_paths[];
extern const size_t qsb__secret_path_count;
extern const struct qsb__builtin_path qsb__system_paths[];
extern const size_t qsb__system_path_count;

/*
 * protectNames: a file or folder of this name is never writable, at any depth of a writable root. `name` is the first
 * component; `below` what is protected inside it, NULL = the thing itself. Where `below` has wildcards, git_scan.c
 * finds what exists.
 */
struct qsb__protected_name {
	const char *name;
	const char *below;
	bool plain_only; /* only when it is not a folder */
	const char *reason;
	bool project; /* only a project's own counts: packages come with such files by the thousand, and nobody reads
			 them */
};
extern const struct qsb__protected_name qsb__protected_names[];
extern const size_t qsb__protected_name_count;

/* Folders that the scan for protected names does not enter: big, made by tools, and rebuilt by them. */
extern const char *const qsb__unscanned_folders[]; /* NULL-terminated */
/* Further folders that tools unpack other people's packages into: with those above, the ones below which names that
 * count in a project only are not held. */
extern const char *const qsb__package_folders[];
/* Such a folder, too: a version of a package in Go's cache, "name@v1.2.3". */
bool qsb__is_package_version(const char *name, size_t length);

/* Is "NAME=VALUE" a secret, by its name or by a password in its value? */
bool qsb__is_secret_variable(const char *variable);

/* A program that stops where it cannot write its cache: a variable points it to scratch space. */
struct qsb__cache {
	const char *variable;            /* what names the place; the caller's own wins */
	const char *base, *home, *below; /* its place: `below` in the folder that `base` names, else in ~/`home` */
	const char *older;               /* below the home: where it is if that is there */
	const char *scratch;             /* below /tmp/.cache */
	bool fetches;                    /* with a network, it must write even where there is a cache to read */
	const char *reading[2];          /* what makes it do with reading; NULL = it does by itself */
};
extern const struct qsb__cache qsb__caches[];
extern const size_t qsb__cache_count;

/* environment.inherit "safe": names that are dropped, '*' at either end or both. */
extern const char *const qsb__secret_variables[]; /* NULL-terminated */
/* Names that look like secrets and are none. */
extern const char *const qsb__harmless_variables[];
/* environment.inherit "none": what is still kept. */
extern const char *const qsb__basic_variables[];
extern const char *const qsb__basic_windows_variables[];

#endif
