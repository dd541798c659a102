"""Events are written in the transaction of a change, then delivered to each subscriber."""
