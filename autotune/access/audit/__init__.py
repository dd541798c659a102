"""The audit trail: who did what, to which object, from where, with what outcome; sealed into a chain per organization.

routes      what a request is about, told from its route and view
calls       the call at hand, and what it concerned
trail       writes events
macs        the keyed digests of events and chains
sealing     gives events their place in a chain; `sealer` does so all the time
verifying   finds what was altered, removed or inserted
"""
