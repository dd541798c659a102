"""The audit log: who did what, to which object, from where, with what outcome; hash-chained for each organization.

request_subjects  derives what a request is about from its route and view
current_call      the current request, and what it concerned
trail             writes events
macs              the keyed digests of events and chains
sealing           gives events their place in a chain; `sealing_thread` runs it every second
verification      finds altered, removed and inserted events
"""
