"""Retention: how long text and rows are kept, legal holds, and erasures on request."""
