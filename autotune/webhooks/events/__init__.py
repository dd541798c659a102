"""Events: written in the transaction of the change, then given to each subscriber."""
