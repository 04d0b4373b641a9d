/* The back ends of Linux, best first. */
#include "backend/backend.h"
#include "backend/linux/registry.h"

const struct qsb__backend *const qsb__backends[] = {&qsb__backend_namespaces, NULL};
