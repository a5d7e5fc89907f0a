//! Error numbers, for interfaces whose errors are Linux's.

/// An error number, under its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Errno {
    /// Interrupted by a signal.
    #[error("interrupted by a signal (EINTR)")]
    EINTR,
    /// Less was done than the caller asked for.
    #[error("less was reclaimed than asked (EAGAIN)")]
    EAGAIN,
    /// The object exists already.
    #[error("already exists (EEXIST)")]
    EEXIST,
    /// The object is gone.
    #[error("is gone (ENODEV)")]
    ENODEV,
    /// The input was not understood, or was out of range.
    #[error("not understood, or out of range (EINVAL)")]
    EINVAL,
}

impl Errno {
    /// Returns the name (errno(3)).
    pub const fn name(self) -> &'static str {
        match self {
            Self::EINTR => "EINTR",
            Self::EAGAIN => "EAGAIN",
            Self::EEXIST => "EEXIST",
            Self::ENODEV => "ENODEV",
            Self::EINVAL => "EINVAL",
        }
    }

    /// Returns the number (errno(3), as on all of Linux's architectures we know).
    pub const fn number(self) -> i32 {
        match self {
            Self::EINTR => 4,
            Self::EAGAIN => 11,
            Self::EEXIST => 17,
            Self::ENODEV => 19,
            Self::EINVAL => 22,
        }
    }
}
