//! The directory of a sweep: its plan, and a file for each cell that is done or failed. Every file
//! appears when it is complete, so whoever is killed leaves nothing half written under a name that
//! is read.

use crate::plan::{CellId, Plan, PlanError, Planned};
use pageout_experiment::input;
use pageout_record::schema::{MergeError, Pooling, ReadError, RecordFile, RecordSet};
use serde::Serialize;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PLAN: &str = "sweep.json";
const RESULTS: &str = "results";
const ERRORS: &str = "errors";

/// Where a sweep stands.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
}

/// A cell that failed, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failed {
    /// Its id.
    pub id: CellId,
    /// What tells it from others.
    pub cell: String,
    /// Why it failed.
    pub error: String,
}

/// How far a sweep is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Status {
    /// All of its cells.
    pub cells: usize,
    /// Those with results.
    pub done: usize,
    /// Those that failed when they last ran, in the order of the plan.
    pub failed: Vec<Failed>,
}

/// Why a directory cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No plan is in it.
    #[error("{} is no sweep's directory: `pageout sweep plan` makes one", .0.display())]
    NotPlanned(PathBuf),
    /// The plan is not accepted.
    #[error("{}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: PlanError,
    },
    /// Another sweep's plan is in it.
    #[error("{} has the plan of another sweep: give another --dir", .0.display())]
    Taken(PathBuf),
    /// A result is none.
    #[error("{}: remove it and run the sweep again", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ReadError,
    },
    /// Results do not go together.
    #[error(transparent)]
    Merge(#[from] MergeError),
}

impl Directory {
    /// A directory, which may have to be made.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Writes a plan. The same one may be there already.
    ///
    /// # Errors
    /// [`DirectoryError::Taken`] if another is there; [`DirectoryError::Write`].
    pub fn plan(&self, plan: &Plan) -> Result<(), DirectoryError> {
        match self.planned() {
            Err(DirectoryError::NotPlanned(_)) => {}
            Ok(there) if there == *plan => return Ok(()),
            Ok(_) | Err(DirectoryError::Plan { .. }) => {
                return Err(DirectoryError::Taken(self.root.clone()));
            }
            Err(error) => return Err(error),
        }
        for directory in [RESULTS, ERRORS] {
            let path = self.root.join(directory);
            fs::create_dir_all(&path).map_err(|source| DirectoryError::Write { path, source })?;
        }
        write(&self.root, PLAN, &plan.to_json())
    }

    /// The plan that is there.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn planned(&self) -> Result<Plan, DirectoryError> {
        let path = self.root.join(PLAN);
        let text = match input::read_text(&path, input::MAX_RECORDS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(DirectoryError::NotPlanned(self.root.clone()));
            }
            read => read.map_err(|source| DirectoryError::Read { path: path.clone(), source })?,
        };
        Plan::from_json(&text).map_err(|source| DirectoryError::Plan { path, source })
    }

    /// Whether a cell is done.
    pub fn has(&self, id: &CellId) -> bool {
        self.result(id).exists()
    }

    /// Keeps what a cell came to.
    ///
    /// # Errors
    /// [`DirectoryError::Write`].
    pub fn keep(&self, id: &CellId, json: &str) -> Result<(), DirectoryError> {
        write(&self.root.join(RESULTS), &format!("{id}.json"), json)?;
        // It may have failed before.
        match fs::remove_file(self.error(id)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(DirectoryError::Write { path: self.error(id), source })
            }
            _ => Ok(()),
        }
    }

    /// Keeps why a cell failed.
    ///
    /// # Errors
    /// [`DirectoryError::Write`].
    pub fn fail(&self, id: &CellId, error: &str) -> Result<(), DirectoryError> {
        write(&self.root.join(ERRORS), &format!("{id}.txt"), error)
    }

    /// How far the sweep is.
    ///
    /// # Errors
    /// [`DirectoryError::Read`].
    pub fn status(&self, plan: &Plan) -> Result<Status, DirectoryError> {
        let (mut done, mut failed) = (0, Vec::new());
        for Planned { id, cell } in plan.cells() {
            if self.has(id) {
                done += 1;
                continue;
            }
            let path = self.error(id);
            match input::read_text(&path, input::MAX_TEXT) {
                Ok(error) => failed.push(Failed { id: id.clone(), cell: cell.to_string(), error }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(DirectoryError::Read { path, source }),
            }
        }
        Ok(Status { cells: plan.cells().len(), done, failed })
    }

    /// What all cells that are done came to, in the order of the plan.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn merged(&self, plan: &Plan) -> Result<RecordFile, DirectoryError> {
        let mut files = Vec::new();
        for Planned { id, .. } in plan.cells().iter().filter(|planned| self.has(&planned.id)) {
            let path = self.result(id);
            let text = input::read_text(&path, input::MAX_RECORDS);
            let text =
                text.map_err(|source| DirectoryError::Read { path: path.clone(), source })?;
            let set = RecordSet::from_json(&text)
                .map_err(|source| DirectoryError::Result { path: path.clone(), source })?;
            files.push((path.display().to_string(), set.into()));
        }
        Ok(RecordFile::merge(files, Pooling::Any)?)
    }

    fn result(&self, id: &CellId) -> PathBuf {
        self.root.join(RESULTS).join(format!("{id}.json"))
    }

    fn error(&self, id: &CellId) -> PathBuf {
        self.root.join(ERRORS).join(format!("{id}.txt"))
    }
}

impl Status {
    /// Cells that are neither done nor failed.
    pub const fn left(&self) -> usize {
        self.cells - self.done - self.failed.len()
    }

    /// It as indented JSON.
    ///
    /// # Panics
    /// Never: texts and numbers can be written.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written") + "\n"
    }
}

/// Writes a file that has its name only when it is complete.
fn write(directory: &Path, name: &str, text: &str) -> Result<(), DirectoryError> {
    let path = directory.join(name);
    let written = || {
        let mut partial = tempfile::Builder::new()
            .prefix(".")
            .suffix(".partial")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)?;
        partial.write_all(text.as_bytes())?;
        partial.as_file().sync_data()?;
        partial.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|source| DirectoryError::Write { path: path.clone(), source })
}
