"""com.microsoft operators that have a standard equivalent."""

CONTRIB = ()
