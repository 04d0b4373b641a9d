#ifndef QSB_SUPERVISOR_RESULT_JSON_H
#define QSB_SUPERVISOR_RESULT_JSON_H

#include <jansson.h>

#include "supervisor/run.h"

/* A new reference, NULL = no memory. */
json_t *qsb__denial_to_json(const struct qsb__denial *denial);

#endif
