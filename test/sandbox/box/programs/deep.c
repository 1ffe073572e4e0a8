/* Makes directories each inside the last, and a file at the bottom, far beyond any path: `deep DIRECTORY LEVELS BYTES`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count != 4 || chdir(arguments[1]) < 0) return 1;
  for (long left = atol(arguments[2]); left > 0; left--)
    if (mkdir("d", 0755) < 0 || chdir("d") < 0) return 1;
  int file = open("file", O_WRONLY | O_CREAT | O_EXCL, 0644);
  return file < 0 || ftruncate(file, atol(arguments[3])) < 0;
}
