"""What every page of a logged-in person stands on: who they are, where they may go, and how a form's work is done."""
