"""One file for each kind of fault. Each is a function of the stage that answers with what it found."""
