/* How init makes itself ready, and says so. */
#ifndef AW_SETUP_H
#define AW_SETUP_H

#include <stdbool.h>

/* False, with the reason on descriptor 2, if it cannot. */
bool set_up(int socket);

#endif
