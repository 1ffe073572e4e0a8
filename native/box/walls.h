/* Tries the walls that it is behind, and says of each whether it held. */
#ifndef AW_WALLS_H
#define AW_WALLS_H

/* OUTSIDE, a file that must not be read; PID, a process that must not be reached; PORT of the host; PROXY port, or 0. */
int try_walls(char **given);

#endif
