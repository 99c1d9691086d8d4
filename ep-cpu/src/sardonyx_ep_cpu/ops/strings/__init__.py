"""String operators."""
