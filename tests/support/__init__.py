"""What the tests that talk to a running server share: starting one, and speaking RESP."""
