//! Signatures over digests: key pairs, DSSE envelopes, and the policy that says which keys may sign which names. No network.
#![forbid(unsafe_code)]
