"""For tests that start MPI programs: the MPI installations, and Forebay around the programs."""
