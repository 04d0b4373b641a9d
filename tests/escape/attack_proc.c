#include "attack.h"

#include <stddef.h>

const struct attack attacks_proc[] = {
	{NULL, NULL},
};
