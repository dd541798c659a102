"""How people come in and out: login, second factor, sessions, single sign-on, invitations. See docs/people.md."""
