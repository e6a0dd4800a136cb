/* An MPI program that forks, and starts a program that knows nothing of MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void call_all(void);

int main(void) {
  call_all();
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    call_all();
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return system("echo child");
}
