#include "attack.h"

#include <stddef.h>

const struct attack attacks_ipc[] = {
	{NULL, NULL},
};
