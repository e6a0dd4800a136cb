#include "sim/cluster/metadata_work.h"

#include <memory>
#include <stdexcept>

#include "sim/cluster/metadata.h"
#include "sim/cluster/process.h"

namespace forebay::sim {
namespace {

constexpr uint32_t only_client = 0;

// The process and its machine.
class MetadataWork {
 public:
  MetadataWork(const FileTree& tree, const MachineSettings& settings, Progress& progress)
      : tree_(tree),
        progress_(progress),
        // The client, the servers, and a host for metadata.
        network_(kernel_, settings.network, 1 + settings.servers + 1),
        servers_(kernel_, settings),
        file_system_(made_file_system(kernel_, network_, settings, 1, servers_.storages())),
        metadata_(dynamic_cast<Metadata*>(file_system_.get())),
        entries_(tree.bytes.size()) {
    if (metadata_ == nullptr) throw std::invalid_argument("the file system has no metadata");
    for (std::size_t object = 1; object < entries_.size(); ++object)
      ++entries_[tree.parents[object]];
  }

  MetadataResult run() {
    Process process(kernel_, [this] {
      run_task(MetadataTask::extract, &MetadataWork::extract, &MetadataWork::touch);
      run_task(MetadataTask::list, &MetadataWork::list, &MetadataWork::leave);
      run_task(MetadataTask::remove, &MetadataWork::ask_and_remove, &MetadataWork::remove_empty);
    });
    kernel_.run();
    if (process.failure() != nullptr) std::rethrow_exception(process.failure());
    result_.network = network_.counts();
    result_.events = kernel_.happened();
    return result_;
  }

 private:
  using Step = void (MetadataWork::*)(const Named&);

  Named named(std::size_t object) const {
    return {object, object == 0 ? Named::root : tree_.parents[object], tree_.is_directory(object)};
  }

  // Takes a step with each object, and another with each directory once it has taken those with all
  // that is in it.
  void run_task(MetadataTask which, Step enter, Step end_directory) {
    task_ = &result_.tasks[static_cast<std::size_t>(which)];
    metadata_->forget(only_client);
    const MetadataResult::Task before = so_far();
    const Picoseconds began = kernel_.now();
    std::vector<std::size_t> open;  // directories
    const auto leave_last = [&] {
      (this->*end_directory)(named(open.back()));
      open.pop_back();
    };
    for (std::size_t object = 0; object < tree_.bytes.size(); ++object) {
      if (progress_.stop) throw std::runtime_error("stopped");
      while (!open.empty() && open.back() != tree_.parents[object]) leave_last();
      (this->*enter)(named(object));
      if (tree_.is_directory(object)) open.push_back(object);
      progress_.add(1);
    }
    while (!open.empty()) leave_last();
    const MetadataResult::Task after = so_far();
    task_->time = kernel_.now() - began;
    task_->messages = after.messages - before.messages;
    task_->message_bytes = after.message_bytes - before.message_bytes;
    task_->served = after.served - before.served;
    task_->written_bytes = after.written_bytes - before.written_bytes;
  }
  MetadataResult::Task so_far() const {
    MetadataResult::Task task;
    task.messages = network_.counts().messages;
    task.message_bytes = network_.counts().message_bytes;
    for (uint32_t server = 0; server < file_system_->counted(); ++server) {
      task.served += file_system_->counts(server).requests;
      task.written_bytes += file_system_->counts(server).written_bytes;
    }
    return task;
  }

  template <typename Act>
  void timed(MetadataOperation operation, const Act& act) {
    MetadataResult::Operations& sum = task_->operations[static_cast<std::size_t>(operation)];
    const Picoseconds began = kernel_.now();
    act();
    ++sum.times;
    sum.time += kernel_.now() - began;
  }

  void extract(const Named& of) {
    if (of.is_directory) {
      return timed(MetadataOperation::make_directory,
                   [&] { metadata_->make_directory(only_client, of); });
    }
    timed(MetadataOperation::create_file, [&] { metadata_->create_file(only_client, of); });
    timed(MetadataOperation::write, [&] { write(of.object); });
    touch(of);
  }
  void write(uint64_t file) {
    const Extent all{0, tree_.bytes[static_cast<std::size_t>(file)]};
    if (!all.empty()) {
      Completion done;
      file_system_->access(only_client, file, true, {&all, 1}, done.then());
      done.wait();
    }
    file_system_->close(only_client, file);
  }
  // tar restores the times of a file after its bytes, those of a directory last of all.
  void touch(const Named& of) {
    timed(MetadataOperation::set_attributes, [&] { metadata_->set_attributes(only_client, of); });
  }

  void list(const Named& of) {
    const auto kind = of.is_directory ? MetadataOperation::get_directory_attributes
                                      : MetadataOperation::get_attributes;
    timed(kind, [&] { metadata_->get_attributes(only_client, of); });
    if (!of.is_directory) return;
    timed(MetadataOperation::read_directory,
          [&] { metadata_->read_directory(only_client, of.object, entries_[of.object]); });
  }
  void leave(const Named&) {}

  // An entry does not say whether it is a directory: rm asks for its attributes.
  void ask_and_remove(const Named& of) {
    list(of);
    if (of.is_directory) return;
    timed(MetadataOperation::remove_file, [&] { metadata_->remove_file(only_client, of); });
  }
  void remove_empty(const Named& of) {
    timed(MetadataOperation::remove_directory,
          [&] { metadata_->remove_directory(only_client, of); });
  }

  const FileTree& tree_;
  Progress& progress_;
  Kernel kernel_;
  Network network_;
  Servers servers_;
  std::unique_ptr<FileSystem> file_system_;
  Metadata* metadata_;
  std::vector<int64_t> entries_;  // of directories
  MetadataResult result_;
  MetadataResult::Task* task_ = nullptr;
};

}  // namespace

bool FileTree::is_sound() const {
  if (bytes.empty() || bytes.size() != parents.size() || !is_directory(0)) return false;
  std::vector<std::size_t> open;
  for (std::size_t object = 0; object < bytes.size(); ++object) {
    if (bytes[object] < directory) return false;
    while (!open.empty() && open.back() != parents[object]) open.pop_back();
    if (open.empty() != (object == 0)) return false;
    if (is_directory(object)) open.push_back(object);
  }
  return true;
}

MetadataResult simulate_metadata(const FileTree& tree, const MachineSettings& settings,
                                 Progress& progress) {
  return MetadataWork(tree, settings, progress).run();
}

}  // namespace forebay::sim
