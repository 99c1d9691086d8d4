"""The suite's own cases: what the specification says where runtimes have been wrong."""
