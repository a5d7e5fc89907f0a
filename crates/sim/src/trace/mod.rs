//! Page traces of real programs.
