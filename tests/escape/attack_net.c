#include "attack.h"

#include <stddef.h>

const struct attack attacks_net[] = {
	{NULL, NULL},
};
