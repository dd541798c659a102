"""How people log in and out: passwords, second factors, sessions, single sign-on, invitations. See docs/people.md."""
