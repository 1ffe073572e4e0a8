/* Takes what is mounted at a path out of mount namespaces that boxes were made in. */
#ifndef AW_UNMOUNT_H
#define AW_UNMOUNT_H

int unmount(int count, char **arguments);

#endif
