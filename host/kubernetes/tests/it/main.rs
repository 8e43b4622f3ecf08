//! Over the double of an API server.
