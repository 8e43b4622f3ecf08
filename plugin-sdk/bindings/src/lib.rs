//! Generates from the WIT what is written down for people and other languages: bindings of the SDKs, and the pages of the contract.
#![forbid(unsafe_code)]
