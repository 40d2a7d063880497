/* Delays every fsync and fdatasync by PERDURE_SYNC_MS, then calls the real one. Loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void delay(void) {
  const char *text = getenv("PERDURE_SYNC_MS");
  long ms = text == NULL ? 0 : atol(text);
  struct timespec left = {ms / 1000, (ms % 1000) * 1000000L};
  while (nanosleep(&left, &left) != 0)
    ; /* a signal interrupted it */
}

int fsync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  delay();
  return real(file);
}

int fdatasync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  delay();
  return real(file);
}
