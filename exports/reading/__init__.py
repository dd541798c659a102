"""Reading what an export writes, in bounded ranges."""
