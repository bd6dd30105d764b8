// Found by run_path_job, along its own run path only.
extern "C" int answer() { return 42; }
