/* What only the supervisor's child can mount, made reachable for the user that the box runs as. */
#ifndef AW_STAGE_H
#define AW_STAGE_H

#include "../supervise/spec.h"

/* All end the process with a report if they fail. */
void enter_user_namespace(void);
void make_stage(const struct spec *spec);

/* A user namespace in which disk id `from` is `to`, for an id-mapped mount. */
int id_map_namespace(uint32_t from, uint32_t to);

#endif
