// For test programs: the end of Forebay's own processes.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Kills the committers of a job, which are its nodes' agents, and returns their number.
static inline int kill_agents(const char* job) {
  int killed = 0;
  DIR* const processes = opendir("/proc");
  for (struct dirent* entry; (entry = readdir(processes)) != NULL;) {
    char path[300], words[4096] = "";
    snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
    FILE* const file = fopen(path, "r");
    if (file == NULL) continue;
    const size_t bytes = fread(words, 1, sizeof words - 1, file);
    fclose(file);
    if (bytes == 0 || strstr(words, "forebay-committer") == NULL) continue;
    if (strstr(words + strlen(words) + 1, job) == NULL) continue;  // the first argument
    killed += kill(atoi(entry->d_name), SIGKILL) == 0;
  }
  closedir(processes);
  return killed;
}
