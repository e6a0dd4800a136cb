/* Stands for an MPI library: as many names as the tests need, and answers that say who was called.
 * NAME says which library it is to be recognised as (ompi_mpi_comm_world makes an Open MPI). */
#define WEAK_ALIAS(name, target) __typeof__(target) name __attribute__((weak, alias(#target)))

const char* PMPI_Init(void) { return "library"; }
WEAK_ALIAS(MPI_Init, PMPI_Init);
const char* PMPI_File_open(void) { return "library"; }
WEAK_ALIAS(MPI_File_open, PMPI_File_open);
const char* PMPI_File_close(void) { return "library"; }
WEAK_ALIAS(MPI_File_close, PMPI_File_close);
const char* PMPI_Comm_rank(void) { return "library"; }
WEAK_ALIAS(MPI_Comm_rank, PMPI_Comm_rank);

/* What a library's own parts do: no interposer may come between. */
const char* library_opens(void) { return PMPI_File_open(); }

#ifdef OPEN_MPI
int ompi_mpi_comm_world;
#endif
