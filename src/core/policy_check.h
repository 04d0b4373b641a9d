/* What one entry of a list must look like: the `check` functions of the policy's table. 0 = good, else `why` says what
 * would be right. None of them looks at the host. */
#ifndef QSB_CORE_POLICY_CHECK_H
#define QSB_CORE_POLICY_CHECK_H

#include <stddef.h>

int qsb__check_path(const char *text, char *why, size_t why_size);
int qsb__check_folder(const char *text, char *why, size_t why_size);
int qsb__check_socket_path(const char *text, char *why, size_t why_size);
int qsb__check_variable_pattern(const char *text, char *why, size_t why_size);
/* NAME=VALUE */
int qsb__check_variable(const char *text, char *why, size_t why_size);

#endif
