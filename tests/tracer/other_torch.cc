// Stands for a LibTorch that the observer was not built for: only its file's
// name is looked at.
extern "C" int version() { return 2; }
