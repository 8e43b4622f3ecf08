//! Makes components of core WebAssembly modules: those that carry the contract's types, and those for WASI preview 1 with an adapter. Writes
//! into a component what it is (the section `plumbline:module`).
#![forbid(unsafe_code)]
