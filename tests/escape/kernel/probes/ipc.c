// ipc VERB ARGUMENTS: System V and POSIX IPC objects and keys, made outside and attacked inside.
// Every verb prints what it got, or the name of the error, and exits 0.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kSize = 256 };
struct Message {
  long type;
  char text[kSize];
};

static int Fail(void) {
  printf("%s\n", strerrorname_np(errno));
  return 0;
}
static int Number(long value) {
  if (value == -1) return Fail();
  printf("%ld\n", value);
  return 0;
}
static int Text(const char* text) {
  printf("text %s\n", text);
  return 0;
}

static int ShmMake(const char* text) {
  const int id = shmget(IPC_PRIVATE, kSize, 0600);
  char* at = id < 0 ? (char*)-1 : shmat(id, NULL, 0);
  if (at == (char*)-1) return Fail();
  strncpy(at, text, kSize - 1);
  return Number(id);
}
static int ShmShow(int id, const char* overwrite) {
  char* at = shmat(id, NULL, 0);
  if (at == (char*)-1) return Fail();
  Text(at);
  if (overwrite != NULL) strcpy(at, overwrite);
  return 0;
}
static int MsgMake(const char* text) {
  struct Message message = {.type = 1};
  strncpy(message.text, text, kSize - 1);
  const int id = msgget(IPC_PRIVATE, 0600);
  if (id < 0 || msgsnd(id, &message, kSize, IPC_NOWAIT) != 0) return Fail();
  return Number(id);
}
static int MsgTake(int id) {
  struct Message message = {0};
  if (msgrcv(id, &message, kSize, 0, IPC_NOWAIT) < 0) return Fail();
  return Text(message.text);
}
static int MsgCount(int id) {
  struct msqid_ds state;
  return msgctl(id, IPC_STAT, &state) != 0 ? Fail() : Number((long)state.msg_qnum);
}
static int SemMake(void) {
  const int id = semget(IPC_PRIVATE, 1, 0600);
  if (id < 0 || semctl(id, 0, SETVAL, 7) != 0) return Fail();
  return Number(id);
}
static int QueueMake(const char* name, const char* text) {
  struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = kSize};
  const mqd_t queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
  if (queue < 0 || mq_send(queue, text, strlen(text) + 1, 0) != 0) return Fail();
  return Number(1);
}
static int QueueTake(const char* name) {
  char text[kSize];
  const mqd_t queue = mq_open(name, O_RDWR | O_NONBLOCK);
  if (queue < 0 || mq_receive(queue, text, sizeof text, NULL) < 0) return Fail();
  return Text(text);
}
static int QueueCount(const char* name) {
  struct mq_attr attributes;
  const mqd_t queue = mq_open(name, O_RDONLY);
  if (queue < 0 || mq_getattr(queue, &attributes) != 0) return Fail();
  return Number(attributes.mq_curmsgs);
}

// key-run DESCRIPTION SECRET COMMAND...: runs the command with a key in a session keyring of its
// own; its number is in $PROBE_KEY.
static int KeyRun(char** argv) {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0) return Fail();
  const long key =
      syscall(SYS_add_key, "user", argv[0], argv[1], strlen(argv[1]), KEY_SPEC_SESSION_KEYRING);
  if (key < 0) return Fail();
  char number[32];
  snprintf(number, sizeof number, "%ld", key);
  setenv("PROBE_KEY", number, 1);
  execvp(argv[2], argv + 2);
  return Fail();
}
static int KeyRead(long key) {
  char text[kSize] = {0};
  if (syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof text - 1) < 0) return Fail();
  return Text(text);
}

int main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "";
  const char* a = argc > 2 ? argv[2] : "";
  const char* b = argc > 3 ? argv[3] : NULL;
  const int id = atoi(a);
#define VERB(name, expression) \
  if (strcmp(verb, name) == 0) return expression
  VERB("shm-make", ShmMake(a));
  VERB("shm-show", ShmShow(id, b));
  VERB("shm-remove", Number(shmctl(id, IPC_RMID, NULL)));
  VERB("msg-make", MsgMake(a));
  VERB("msg-take", MsgTake(id));
  VERB("msg-count", MsgCount(id));
  VERB("msg-remove", Number(msgctl(id, IPC_RMID, NULL)));
  VERB("sem-make", SemMake());
  VERB("sem-show", Number(semctl(id, 0, GETVAL)));
  VERB("sem-set", Number(semctl(id, 0, SETVAL, 1)));
  VERB("sem-remove", Number(semctl(id, 0, IPC_RMID)));
  VERB("mq-make", QueueMake(a, b));
  VERB("mq-take", QueueTake(a));
  VERB("mq-count", QueueCount(a));
  VERB("mq-remove", Number(mq_unlink(a)));
  VERB("key-run", argc > 4 ? KeyRun(argv + 2) : 2);
  VERB("key-read", KeyRead(atol(a)));
  fprintf(stderr, "ipc: no verb %s\n", verb);
  return 2;
}
