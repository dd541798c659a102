"""The resources of the API, with one class for each."""
