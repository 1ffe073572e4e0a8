#include "call.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where it was called. */
static char directory[4096];

/* With the words of the command line as they are. */
static int by_node(char **words) {
  execvp("node", words);
  fputs("aw: Node is not to be found\n  hint: Install Node 22.18 or later, 24 is best, so that `node` is on the PATH\n", stderr);
  return 127;
}

static int wants_json(int count, char **words) {
  for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++) {
    if (strcmp(words[i], "--json") == 0 || strcmp(words[i], "--format=json") == 0)
      return 1;
    if (strcmp(words[i], "--format") == 0 && i + 1 < count && strcmp(words[i + 1], "json") == 0)
      return 1;
  }
  return 0;
}

/* What is closed would become the socket. */
static void open_all(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) == -1)
      open("/dev/null", O_RDWR);
}

/* Who is in a workspace uses it, and may be asking for its end. */
static int stand_aside(void) {
  return chdir("/") == 0;
}

/* aw-call VERSION SOCKET LAUNCHER [WORD ...] */
int main(int argc, char **argv) {
  struct text request = { 0 };
  int count = argc - 4;
  int fd;

  if (argc < 4) {
    fputs("usage: aw-call VERSION SOCKET LAUNCHER [WORD ...]\n", stderr);
    return 2;
  }
  open_all();
  if (getcwd(directory, sizeof directory) == NULL)
    count = 0;
  fd = count > 0 && put_request(&request, argv[1], directory, count, argv + 4) ? reach(argv[2]) : -1;
  /* What Node is started with, if it is: its name, the launcher, the words. */
  argv[2] = "node";
  if (fd == -1)
    return by_node(argv + 2);
  signal(SIGPIPE, SIG_IGN);
  if (stand_aside() && send_all(fd, request.bytes, request.length)) {
    enum taken taken = is_taken(fd);

    if (taken == TAKEN)
      return show(fd, wants_json(count, argv + 4));
    if (taken == SILENT)
      return tell_of_silence(wants_json(count, argv + 4));
  }
  signal(SIGPIPE, SIG_DFL);
  close(fd);
  if (chdir(directory) != 0) {
    fprintf(stderr, "aw: The working directory cannot be entered again: %s\n", directory);
    return 1;
  }
  return by_node(argv + 2);
}
