"""What a run of the suite says: text, JSON, and matrices of operators against providers."""
