/* Loads an MPI library, or a plugin that needs one, while it runs.
 *   loader plugin PATH                 dlopen PATH, dlsym and call its call_all
 *   loader library PATH local|global   dlopen PATH, dlsym and call its entry points
 *   loader threads PATH                as plugin, while other threads load and look up */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef const char* (*function)(void);

static const char* ask(void* handle, const char* name) {
  function found = (function)dlsym(handle, name);
  return found != NULL ? found() : "absent";
}

static int use_plugin(const char* path) {
  void* plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  void (*call_all)(void) = plugin != NULL ? (void (*)(void))dlsym(plugin, "call_all") : NULL;
  if (call_all == NULL) return puts(dlerror()), 1;
  call_all();
  return 0;
}

static int use_library(const char* path, int mode) {
  void* library = dlopen(path, RTLD_NOW | mode);
  if (library == NULL) return puts(dlerror()), 1;
  printf("open=%s popen=%s close=%s c=%s default=%s error=%s\n", ask(library, "MPI_File_open"),
         ask(library, "PMPI_File_open"), ask(library, "MPI_File_close"),
         ask(library, "MPI_File_open_c"), ask(RTLD_DEFAULT, "MPI_File_open"),
         dlerror() != NULL ? "set" : "none");
  return 0;
}

static atomic_int stopping;

static void* load_and_look_up(void* unused) {
  while (!stopping) {
    void* library = dlopen("libm.so.6", RTLD_LAZY);
    dlsym(library, "cos");
    dlclose(library);
  }
  return unused;
}

static int use_threads(const char* path) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, load_and_look_up, NULL);
  const int result = use_plugin(path);
  stopping = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return result;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[1], "plugin") == 0) return use_plugin(argv[2]);
  if (strcmp(argv[1], "threads") == 0) return use_threads(argv[2]);
  const int global = argc > 3 && strcmp(argv[3], "global") == 0;
  return use_library(argv[2], global ? RTLD_GLOBAL : RTLD_LOCAL);
}
