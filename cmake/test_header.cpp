// Owns the precompiled header of the test programs; has no test itself.
