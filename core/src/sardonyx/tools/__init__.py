"""Tools over models and sessions: comparing, bisecting, optimizing files, and pages about placements and profiles."""
