#ifndef QSB_SUPERVISOR_RESULT_JSON_H
#define QSB_SUPERVISOR_RESULT_JSON_H

#include <jansson.h>

#include "broker/broker.h"
#include "supervisor/run.h"

/* A new reference, NULL = no memory. */
json_t *qsb__finding_to_json(const struct qsb__finding *finding);
json_t *qsb__denial_to_json(const struct qsb__denial *denial);

/* Adds time, host, port, address, way, sent, received, durationMs, rule and reason of a checked event. */
void qsb__connection_to_json(json_t *json, const struct qsb__broker_event *event);
const char *qsb__way_name(uint32_t way);

#endif
