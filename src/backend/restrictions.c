#include "backend/backend.h"

const char *const qsb__restriction_names[] = {"files",       "network",        "processes", "ipc",
					      "systemCalls", "protectedNames", "nameRules", NULL};

const char *const qsb__report_names[] = {"files", "secretReads", "calls", NULL};
