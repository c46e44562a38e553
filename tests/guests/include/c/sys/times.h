#include <relic_c.h>
