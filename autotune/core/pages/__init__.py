"""What pages of all apps share: forms, lists and sentences."""
