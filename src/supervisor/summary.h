/* What was refused, in a few lines for a person who wonders why a command failed. */
#ifndef QSB_SUPERVISOR_SUMMARY_H
#define QSB_SUPERVISOR_SUMMARY_H

#include "supervisor/run.h"

enum { QSB__SUMMARY_LINES = 4, QSB__SUMMARY_WIDTH = 2400 };

/*
 * Lines of text, the most telling first; not yet fit for a terminal, since names are the command's. What one option
 * allows stands in one line. The number of lines: 0 = there is nothing that a command would fail of.
 */
size_t qsb__summary(const struct qsb__result *result, char (*lines)[QSB__SUMMARY_WIDTH]);

#endif
