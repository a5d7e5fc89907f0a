//! The rules of what is held, by architecture.
