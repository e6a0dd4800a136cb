// An open file in the job's directory (directory.h), as a rank of the open uses it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "agent/directory.h"
#include "agent/line.h"
#include "extent/status.h"

namespace forebay::agent {

struct FileTerms;

class EnrolledFile {
 public:
  // Asks the agent that keeps the directory, and waits while the file's owners change. *file stands
  // for the open, until it is destroyed. A failure: the directory does not answer, and knows
  // nothing of the open.
  static Status enrol(std::shared_ptr<Line> directory, const Enrolment& enrolment, Enrolled* answer,
                      std::unique_ptr<EnrolledFile>* file);
  ~EnrolledFile();
  EnrolledFile(const EnrolledFile&) = delete;
  EnrolledFile& operator=(const EnrolledFile&) = delete;

  // Tells the nodes that may cache the file alone who owns it (`terms`), and the directory that it
  // has done so. When it returns, storage has what these nodes' caches held, and their ranks use
  // the owners. A node that cannot be reached has gone.
  Status tell(std::span<const Address> alone, const FileTerms& terms);
  // Tells the directory that the owners have no copies any more.
  Status end_copies();

  // Begins to change the file's owners: nobody else can open the file until change_owners(). False:
  // others have it open, or the directory does not answer.
  bool begin_change();
  Status change_owners(const Owners& owners);

 private:
  EnrolledFile(std::shared_ptr<Line> directory, const EnrolledOpen& open)
      : directory_(std::move(directory)), open_(open) {}
  Status ask(Ask ask, std::span<const std::byte> question, std::vector<std::byte>* answer,
             int64_t* value = nullptr);

  std::shared_ptr<Line> directory_;
  EnrolledOpen open_;
  uint64_t number_ = 0;  // of the connection over which it was enrolled; 0: it is not
};

}  // namespace forebay::agent
