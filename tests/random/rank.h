// State shared by the parts of an executor: this rank's plan and settings, its open handles, and
// the objects that judge and report results.
#pragma once

#include <mpi.h>

#include <array>
#include <string>
#include <utility>

#include "aftermath.h"
#include "call_outcomes.h"
#include "communicators.h"
#include "failure_report.h"
#include "planner.h"
#include "run_settings.h"

namespace random_io {

struct Rank {
  Rank(Planner& its_planner, const Features& its_features, RunSettings its_settings)
      : planner(its_planner),
        features(its_features),
        settings(std::move(its_settings)),
        report(planner.rank(), settings),
        outcomes(planner, settings.history, report),
        communicators(planner.ranks()) {
    files.fill(MPI_FILE_NULL);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int number() const { return planner.rank(); }
  bool among(int64_t members) const { return (members >> number() & 1) != 0; }
  // The arguments of this rank; nullptr: it takes no part.
  const Part* part(const Planned& planned) const { return planned.operation.part(number()); }
  MPI_File& file(int slot) { return files[static_cast<std::size_t>(slot)]; }
  std::string path(int file, int alias) const { return file_path(settings.directory, file, alias); }

  Planner& planner;
  const Features& features;
  const RunSettings settings;
  std::array<MPI_File, kSlots> files;  // MPI_FILE_NULL if the slot is free
  FailureReport report;
  CallOutcomes outcomes;
  Communicators communicators;
};

}  // namespace random_io
