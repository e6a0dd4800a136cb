"""What the tests share that start MPI programs: the MPI installations, and Forebay around them."""
