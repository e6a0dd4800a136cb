// Gives hints as its arguments say, "WHEN RANKS KEY=VALUE": WHEN is open, info (MPI_File_set_info)
// or view (MPI_File_set_view), RANKS is "all" or a number. The first arguments are the file and how
// to open it: together, or apart (each rank opens a file of its own, by MPI_COMM_SELF, one rank
// after the other). At the end rank 0 prints Forebay's hints from MPI_File_get_info.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 200

static int rank, count;
static char** arguments;

// The hints of this rank at one time. *any: some rank gives hints then.
static MPI_Info given(const char* when, int* any) {
  MPI_Info info;
  MPI_Info_create(&info);
  *any = 0;
  for (int i = 3; i + 2 < count; i += 3) {
    if (strcmp(arguments[i], when) != 0) continue;
    *any = 1;
    if (strcmp(arguments[i + 1], "all") != 0 && atoi(arguments[i + 1]) != rank) continue;
    char text[512];
    snprintf(text, sizeof text, "%s", arguments[i + 2]);
    char* equals = strchr(text, '=');
    *equals = '\0';
    MPI_Info_set(info, text, equals + 1);
  }
  return info;
}

static void tell_hints(MPI_File file) {
  MPI_Info info;
  int keys;
  MPI_File_get_info(file, &info);
  MPI_Info_get_nkeys(info, &keys);
  for (int k = 0; k < keys; ++k) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int found;
    MPI_Info_get_nthkey(info, k, key);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    const int told = strncmp(key, "forebay_", 8) == 0 || strstr(key, "visibility") != NULL;
    if (rank == 0 && told) printf("%s=%s\n", key, value);
  }
  // The hints that were returned may be given back.
  MPI_File_set_info(file, info);
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  count = argc;
  arguments = argv;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int apart = strcmp(argv[2], "apart") == 0;
  char name[512];
  snprintf(name, sizeof name, apart ? "%s.%d" : "%s", argv[1], rank);
  if (apart) sleep((unsigned)rank);
  const MPI_Comm comm = apart ? MPI_COMM_SELF : MPI_COMM_WORLD;
  for (int turn = 0; turn < 2; ++turn) {
    int any;
    MPI_File file;
    MPI_Info info = given("open", &any);
    MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Info_free(&info);
    info = given("info", &any);
    if (any) MPI_File_set_info(file, info);
    MPI_Info_free(&info);
    info = given("view", &any);
    if (any) MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info);
    MPI_Info_free(&info);
    char record[100];
    memset(record, 'a' + rank, sizeof record);
    for (int i = 0; i < RECORDS; ++i)
      MPI_File_write_at(file, (MPI_Offset)sizeof record * (i * 8 + rank), record, sizeof record,
                        MPI_BYTE, MPI_STATUS_IGNORE);
    if (turn == 1) tell_hints(file);
    MPI_File_close(&file);
  }
  MPI_Finalize();
  return 0;
}
