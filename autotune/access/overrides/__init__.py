"""Commands of Django that do a little more here. An application of its own, since it must come before Django's."""
