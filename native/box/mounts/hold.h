/* Mounts an ordinary user's overlay for whoever has started this, and holds it until they have taken it. */
#ifndef AW_HOLD_H
#define AW_HOLD_H

int hold(int count, char **arguments);

#endif
