/* The shell of the suite's busybox image. It is that of busybox, because tests compare its messages. That shell drops
   variables whose names are not valid in a shell, so a container with such variables gets Bash. */
#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
  const char *shell = "/bin/busybox";
  (void)argc;
  for (char **entry = environ; *entry; entry++)
    for (const char *c = *entry; *c && *c != '='; c++)
      if (!isalnum((unsigned char)*c) && *c != '_') shell = "/bin/bash";
  execv(shell, argv);
  perror(shell);
  return 127;
}
