/*
 * The way to a file that is put for commands. These are the same user as init, so they may have put something else in its
 * place: that is taken away. No link on the way is followed.
 */
#ifndef AW_WAY_H
#define AW_WAY_H

#include <stdbool.h>

#define FRESH_NAME 32

/*
 * The directory that holds the last name of the path, or -1 with errno; `*name` is that name. `make`: what is missing is
 * made, and what is no directory gives way, in the last two places; above them it is an error.
 */
int way_open(const char *path, const char **name, bool make);
/* A name that nobody can have taken before. */
bool fresh_name(char name[FRESH_NAME]);

#endif
