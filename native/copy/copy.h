/*
 * aw-copy: copies what is plain of a tree (directories, files, links) into a new one, with several threads, makes one
 * of a list and of contents, gives a tree away, or looks at everything in one. What it does not do it names, for who has
 * started it: what is mounted there, may not be read, or is of another kind. docs/spec/copy-program.md says what it is
 * told and what it tells; at the other end are src/sys/copy/helper.ts and src/sys/trees/scan-helper.ts.
 *
 * The source may change while it is read: everything in it is reached by one name in an open directory, and opened only
 * when it is known what it is. No link is followed. Nobody else can reach the copy.
 */
#ifndef AW_COPY_H
#define AW_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define PRINT_BYTES 80
/* Memory of each thread: for contents, lists of names, and attributes. */
#define SCRATCH_BYTES (4 * 65536)

/* What the kernel tells about something; its layout is the kernel's. */
struct told {
  uint32_t mask, block_size;
  uint64_t attributes;
  uint32_t links, uid, gid;
  uint16_t mode, spare0;
  uint64_t inode, size, blocks, attributes_mask;
  struct told_time {
    int64_t seconds;
    uint32_t nanoseconds;
    int32_t reserved;
  } atime, btime, ctime, mtime;
  uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
  uint64_t mount;
  uint64_t spare[13];
};

struct identity {
  uint64_t inode;
  uint32_t dev_major, dev_minor;
};

struct bytes {
  char *start;
  size_t length, room;
};

/* A directory that is being copied. */
struct node {
  struct node *parent;
  /* From the top; empty for the top. */
  char *path;
  /* The directory and its copy, open. */
  int from, to;
  /* As it was before anything of it was read. */
  struct told told;
  /* Itself while it is listed, and the directories in it. */
  atomic_int pending;
  /* Something in it, or below it, is for others to copy. */
  atomic_bool is_left;
  /* What was made in it, and what was left: names with a slash between them. */
  struct bytes names, prints, left;
  uint32_t count;
};

/* What was asked for; it does not change. */
struct wish {
  /* A tree of our own: kept as it is. */
  bool exact;
  /* Into what is a layer of an overlay, or may become one. */
  bool layer;
  /* Later changes of its files must show. */
  bool remembered;
  /* The copy is to be durable in the end. */
  bool early;
  uid_t uid, owner_uid;
  gid_t owner_gid;
  uint64_t mount;
  const struct identity *guarded;
  size_t guarded_count;
};

extern struct wish wish;

/* What became of one thing. Or an error's number, less than 0: then the whole copy has failed. */
enum { MADE, LEFT, GONE, IS_DIRECTORY };

/* -- entry.c ------------------------------------------------------------------------------------------------------ */

/* False if the kernel does not tell what is needed. */
bool tell(int fd, struct told *told);
bool is_guarded(const struct told *told);
bool is_ours(const struct told *told);
/* What a descriptor names is opened, and nothing else, whatever its name has become. -1 with errno. */
int open_named(int named, int flags);
/* Something in a directory that is no directory. Made: `told` says what it was. */
int copy_entry(struct node *node, const char *name, struct told *told, char *scratch);
/* When it is full. 0, or an error's number. */
int dress_directory(const struct node *node, char *scratch);

/* -- content.c ---------------------------------------------------------------------------------------------------- */

/* Fills a new file, by sharing blocks where the file system can. Holes stay holes. 0, or an error's number. */
int copy_content(int from, int to, const struct told *told, char *scratch);
/* All of it, at a position of a file. 0, or an error's number. */
int write_at(int to, const char *data, size_t length, off_t at);
/* Sees to it that later writes to a file show: see src/sys/trees/write-out.ts. 0, or an error's number. */
int settle(int from, const struct told *told);

/* -- early.c ------------------------------------------------------------------------------------------------------ */

/* Writes out what was copied while the rest is: who waits for the disk afterwards has less to wait for. */
void start_early(int to);
/* What was copied since. */
void note_early(unsigned files, uint64_t bytes);
/* 0, or an error's number: whoever looks later is not told of it again. */
int end_early(void);

/* -- attributes.c ------------------------------------------------------------------------------------------------- */

/* Makes the attributes of a new file those of another, as far as this process may: how many it had; or an error. */
int copy_attributes(int from, int to, char *scratch);
/* Takes away those that something has, as far as this process may. 0, or an error's number. */
int clear_attributes(int of, char *scratch);

/* -- links.c ------------------------------------------------------------------------------------------------------ */

/* The same as `copy` for a file of several names: they are one file in the copy too. */
int copy_linked(struct node *node, const char *name, struct told *told,
                int (*copy)(struct node *, const char *, int, struct told *, char *), int named, char *scratch);

/* -- queue.c ------------------------------------------------------------------------------------------------------ */

/* A directory that is still to be looked at. */
struct place {
  struct place *next;
  /* From the top; empty for the top. */
  char path[];
};

void add_place(const char *directory, const char *name);
/* Waits for the next. NULL when all are done, or one has failed. */
struct place *take_place(void);
/* For each that was taken. True for the first that has failed. */
bool finish_place(int failed);
/* 0, or the error of the first that has. */
int places_failed(void);

/* -- look.c ------------------------------------------------------------------------------------------------------- */

/* Tells what is in a tree, and, when its input ends, whether all of it still is so. 0, or an error's number. */
int look_through(int tree, unsigned threads, char *const *excluded, size_t excluded_count);

/* -- give.c ------------------------------------------------------------------------------------------------------- */

/* Gives everything in a tree that nobody else can reach, and the tree, to the owner. 0, or an error's number. */
int give_tree(int tree, unsigned threads);

/* -- list.c ------------------------------------------------------------------------------------------------------- */

/* Something to be made: a line of a manifest, see docs/spec/content-store.md. */
struct item {
  /* 0 if the line makes no sense here. */
  char kind;
  /* Of a directory: it can be dressed. Of anything else: it can be made. */
  bool is_plain;
  mode_t mode;
  uid_t uid;
  gid_t gid;
  struct timespec mtime;
  uint64_t size;
  /* From the top; the last part of it; a file's content by name, or a link's target. */
  char *path, *name, *content;
  /* The directory that holds it, the next one there, and of a directory the first: their places in the list. As nothing
   * holds the top, 0 is none of the last two. */
  uint32_t parent, next, first;

  /* Of a directory that is being filled, as of a node. */
  struct item *waiting;
  int fd;
  atomic_int pending;
  atomic_bool is_left;
};

struct list {
  struct item *items;
  uint32_t count;
};

/* The top comes first; the others are in the order of their paths. False if it is no such list. */
bool read_list(int from, struct list *list);

/* -- make.c ------------------------------------------------------------------------------------------------------- */

/* The largest content that is copied in one piece. */
#define LARGEST_CONTENT (1024 * 1024)

/* Makes what is plain of the list at standard input. 0, or an error's number. */
int make_tree(int objects, int top, unsigned threads);

/* -- main.c ------------------------------------------------------------------------------------------------------- */

bool parse_number(const char *text, int base, uint64_t most, uint64_t *value);

/* -- walk.c ------------------------------------------------------------------------------------------------------- */

/* Copies everything below two open directories. 0, or an error's number. */
int walk(int from, int to, unsigned threads);

/* How many directories may be open at once, when each takes two descriptors. */
int count_nodes(void);

/* Does the same work in so many threads, each with memory of its own, and waits for them. */
void in_threads(unsigned threads, void *(*work)(void *scratch));

/* How the kernel lists a directory. */
struct record {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

#define UNKNOWN_TYPE 0
#define DIRECTORY_TYPE 4

/* -- report.c ----------------------------------------------------------------------------------------------------- */

/* Memory that cannot be had ends the process. */
void append(struct bytes *bytes, const void *data, size_t length);
void append_name(struct bytes *bytes, const char *name);
void write_print(char *print, const struct told *told);

/* A file was made, or so much of one. */
void count_file(uint64_t size, bool is_shared);
void count_bytes(uint64_t bytes);

void report_directory(const struct node *node, bool is_dressed);
/* Where a file of several names was made. */
void report_link(const struct told *told, const char *path);
/* Of all that is in a list, one after the other. */
void report_prints(const char *prints, size_t length);
/* A content is missing, or not what its name says. */
void report_wrong(const char *path);
void report_failure(int error, const char *path, const char *name);
/* That it cannot be done like this, and nothing was. */
void report_refusal(void);
void report_end(void);
/* Whether everything is as it was told. */
void report_proof(bool is_unchanged);

#endif
