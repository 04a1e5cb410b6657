"""cnuaslink-cli: what operators ask a CnuasLink switch and tell it, over its management socket."""
