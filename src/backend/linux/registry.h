#ifndef QSB_LINUX_REGISTRY_H
#define QSB_LINUX_REGISTRY_H

#include "backend/backend.h"

extern const struct qsb__backend qsb__backend_namespaces;

#endif
