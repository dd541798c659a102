"""The files of export jobs: encrypted at rest, kept in a storage, read from any offset."""
