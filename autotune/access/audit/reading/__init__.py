"""What readers of the audit log see: events as sentences, names of objects, and the filters."""
